// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/internal/secret"
)

// checker looks for mistakes in a merged document.
type checker struct {
	document *Document
	options  Options
	problems *Problems
}

func (d *Document) check(o Options, problems *Problems) {
	c := &checker{document: d, options: o, problems: problems}
	if o.Rules.Schema != nil {
		*problems = append(*problems, o.Rules.Schema.check(d.filled())...)
	}
	c.references()
	c.secrets()
}

func (c *checker) problem(at Position, path, format string, args ...any) {
	*c.problems = append(*c.problems, Problem{Position: at, Path: path, Message: fmt.Sprintf(format, args...)})
}

// references checks that each key that is named is in the files.
func (c *checker) references() {
	root := c.document.root
	channels, checks := root.get(channelsSection).names(), root.get(checksSection).names()
	defaultsPath := defaultsSection + ".rule." + channelsSection
	c.keys(root.get(defaultsSection).get("rule").get(channelsSection), defaultsPath, "channel", channels)
	for _, check := range root.get(checksSection).each() {
		for _, rule := range check.value.get(rulesSection).each() {
			path := strings.Join([]string{checksSection, check.name, rulesSection, rule.name, channelsSection}, ".")
			c.keys(rule.value.get(channelsSection), path, "channel", channels)
		}
	}
	for _, window := range root.get(maintenanceSection).each() {
		path := maintenanceSection + "." + window.name + ".scope." + checksSection
		c.keys(window.value.get("scope").get(checksSection), path, "check", checks)
	}
	for _, one := range root.get(subscriptionsSection).each() {
		path := subscriptionsSection + "." + one.name
		c.key(one.value.get("channel"), path+".channel", "channel", channels)
		c.keys(one.value.get("selector").get(checksSection), path+".selector."+checksSection, "check", checks)
	}
	for _, page := range root.get(pagesSection).each() {
		groups := page.value.get("groups")
		if groups == nil {
			continue
		}
		for i, group := range groups.items {
			path := fmt.Sprintf("%s.%s.groups[%d].%s", pagesSection, page.name, i, checksSection)
			c.keys(group.get(checksSection), path, "check", checks)
		}
	}
}

// keys checks the keys of a list. A text with name: or id: names something outside the
// project, and an object such as {check: home} names its key in the member.
func (c *checker) keys(list *node, path, kind string, known []string) {
	if list == nil || list.kind != listKind {
		return
	}
	for i, item := range list.items {
		at, inner := item, fmt.Sprintf("%s[%d]", path, i)
		if item.kind == objectKind && item.get(kind) != nil {
			at, inner = item.get(kind), inner+"."+kind
		}
		c.key(at, inner, kind, known)
	}
}

// key checks one of them; nil is none.
func (c *checker) key(at *node, path, kind string, known []string) {
	if at == nil || at.kind != textKind || strings.HasPrefix(at.text, "name:") || strings.HasPrefix(at.text, "id:") {
		return
	}
	if !slices.Contains(known, at.text) {
		c.problem(at.at, path, "there is no %s %q in the files%s", kind, at.text, project.Meant(at.text, known))
	}
}

// secrets reports the secrets that stand in the files.
func (c *checker) secrets() {
	for _, section := range []string{channelsSection, checksSection} {
		for _, one := range c.document.root.get(section).each() {
			kind := ""
			if node := one.value.get("type"); node != nil {
				kind = node.text
			}
			fields := c.options.Rules.Secrets.Check(vigil.CheckType(kind))
			if section == channelsSection {
				fields = c.options.Rules.Secrets.Channel(vigil.ChannelType(kind))
			}
			c.secretsIn(one.value.get("config"), fields, section+"."+one.name+".config")
		}
	}
}

func (c *checker) secretsIn(n *node, fields secret.Fields, path string) {
	if n == nil {
		return
	}
	switch n.kind {
	case textKind:
		switch {
		case n.text == "" || n.raw != "":
		case fields.Secret:
			c.literal(n, path, fields.Address && secret.IsMaskedAddress(n.text) || n.text == secret.Mask)
		case fields.Query:
			c.parameters(n, path)
		}
	case listKind:
		for i, item := range n.items {
			c.secretsIn(item, fields, fmt.Sprintf("%s[%d]", path, i))
		}
	case objectKind:
		for _, m := range n.members {
			c.secretsIn(m.value, memberSecrets(fields, m.name, n), path+"."+m.name)
		}
	default:
	}
}

// parameters reports the secrets in the query of an address.
func (c *checker) parameters(n *node, path string) {
	_, _ = secret.RewriteParameters(n.text, func(name, value string) (string, error) {
		c.literal(n, path+"."+name, value == secret.Mask)
		return value, nil
	})
}

// literal reports a secret that is not a variable, or is what the API shows instead of it.
func (c *checker) literal(n *node, path string, masked bool) {
	write := "write a variable such as ${" + variableOf(path) + "}"
	problem := Problem{Position: n.at, Path: path, Message: "a secret stands in the file; " + write}
	switch {
	case masked:
		problem.Message = "is *** in place of a secret, as the API shows it; " + write
		fallthrough
	case c.options.Strict:
		*c.problems = append(*c.problems, problem)
	default:
		c.document.Warnings = append(c.document.Warnings, problem)
	}
}

// memberSecrets returns what is secret in a member of an object.
func memberSecrets(fields secret.Fields, name string, object *node) secret.Fields {
	return fields.Member(name, func(beside string) any {
		switch value := object.get(beside); {
		case value == nil:
			return nil
		case value.kind == boolKind:
			return value.text == "true"
		default:
			return value.text
		}
	})
}

// variableOf returns the name of the variable for a secret: CHECK_HOME_PASSWORD for the
// path checks.home.config.basic_auth.password.
func variableOf(path string) string {
	kind := map[string]string{
		channelsSection: "CHANNEL", checksSection: "CHECK", maintenanceSection: "MAINTENANCE", pagesSection: "STATUS_PAGE",
		subscriptionsSection: "SUBSCRIPTION",
	}
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
	if len(parts) < 2 {
		return "SECRET"
	}
	name := kind[parts[0]] + "_" + parts[1] + "_" + parts[len(parts)-1]
	return VariableName(name)
}

// VariableName makes the name of a variable of a text: capitals, digits and underscores, and an
// underscore for each other character.
func VariableName(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			return r
		}
		return '_'
	}, text)
}
