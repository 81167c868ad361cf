// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"fmt"
	"strings"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/manifest"
	"github.com/vigil-monitor/vigil/internal/project"
	"github.com/vigil-monitor/vigil/internal/secret"
)

// Variable notes a variable of the source that the files use, and returns how a file
// writes it.
func (r *Result) Variable(name string) string {
	if !manifest.IsVariable(name) {
		return "" // as a variable that is not set
	}
	if manifest.OwnVariable(name) { // which files cannot read
		name = "IMPORTED_" + name
	}
	if !r.taken[name] {
		r.taken[name] = true
		r.Variables = append(r.Variables, name)
	}
	return "${" + name + "}"
}

// hideSecrets replaces each secret that stands in a config by a variable of .env.
func (r *Result) hideSecrets() {
	for _, section := range r.sections() {
		for _, one := range section.resources {
			kind, _ := one.Members.Get("type").(string)
			var fields secret.Fields
			switch one.Kind {
			case project.KindCheck:
				fields = r.options.Rules.Secrets.Check(vigil.CheckType(kind))
			case project.KindChannel:
				fields = r.options.Rules.Secrets.Channel(vigil.ChannelType(kind))
			default:
				continue
			}
			if config, ok := one.Members.Get("config").(Object); ok {
				path := section.name + "." + one.Key + ".config"
				one.Set("config", r.hide(config, fields, path))
			}
		}
	}
}

// hide returns a value with variables in the place of its secrets. A text that has a
// variable already stays as it is.
func (r *Result) hide(value any, fields secret.Fields, path string) any {
	switch value := value.(type) {
	case string:
		switch {
		case value == "" || hasVariable(value):
		case fields.Secret:
			return r.secret(path, strings.ReplaceAll(value, "$${", "${"))
		case fields.Query:
			return r.hideParameters(value, path)
		}
		return value
	case []any:
		for i := range value {
			value[i] = r.hide(value[i], fields, fmt.Sprintf("%s[%d]", path, i))
		}
	case []string:
		for i := range value {
			value[i], _ = r.hide(value[i], fields, fmt.Sprintf("%s[%d]", path, i)).(string)
		}
	case Object:
		for i, m := range value {
			value[i].Value = r.hide(m.Value, memberFields(fields, m.Name, value), path+"."+m.Name)
		}
	}
	return value
}

// hideParameters returns an address with variables in the place of the secrets in its query.
func (r *Result) hideParameters(address, path string) string {
	written, err := secret.RewriteParameters(address, func(name, value string) (string, error) {
		return r.secret(path+"."+name, strings.ReplaceAll(value, "$${", "${")), nil
	})
	if err != nil {
		return address
	}
	return written
}

// memberFields returns what is secret in a member of an object.
func memberFields(fields secret.Fields, name string, object Object) secret.Fields {
	return fields.Member(name, object.Get)
}

// hasVariable reports whether a text of a file has a variable.
func hasVariable(text string) bool {
	return strings.Contains(strings.ReplaceAll(text, "$${", ""), "${")
}

// secret notes a secret and returns the variable for it. The same path has one variable.
func (r *Result) secret(path, value string) string {
	standard := variableOf(path)
	name := standard
	for n := 2; r.taken[name]; n++ {
		name = fmt.Sprintf("%s_%d", standard, n)
	}
	r.taken[name] = true
	r.Secrets = append(r.Secrets, Secret{Name: name, Value: value, Path: path})
	return "${" + name + "}"
}

// variableOf returns the name of the variable for a secret: CHECK_HOME_PASSWORD for the
// path checks.home.config.basic_auth.password.
func variableOf(path string) string {
	section, rest, _ := strings.Cut(path, ".")
	key, inner, _ := strings.Cut(rest, ".config.")
	parts := strings.FieldsFunc(inner, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
	name := strings.TrimSuffix(section, "s") + "_" + key
	if len(parts) > 0 {
		name += "_" + parts[len(parts)-1]
	}
	return manifest.VariableName(name)
}
