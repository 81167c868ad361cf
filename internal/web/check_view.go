// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil/internal/secret"
)

// control is a member of a config in the form: one field, or several.
type control struct {
	*field

	Kind  string // field, pairs, rows or group
	Width string
	Inner []control // of a group
	Rows  []controlRow
	Add   string // text of the button that adds a row; its value is add:<name>
	Post  string // path that buttons post to
}

// controlRow is a row of a list.
type controlRow struct {
	Path   string
	Number int
	Added  bool // by the button that was pressed
	Inner  []control
	Step   *stepView // of a multistep check
	Post   string
	field  *field
}

// Error is what is wrong with the row as a whole.
func (r controlRow) Error() string { return r.field.Error }

// ID is the id of the row.
func (r controlRow) ID() string { return r.field.ID() }

// stepView is a step of a multistep check.
type stepView struct {
	Name, Type control
	Config     configView
	Extract    control
	Types      string // value of the button that shows the fields of another type
}

// configView is the config of a check, by the places of its members.
type configView struct {
	Address, Time, Request, Expect, More []control
	// RequestOpen and MoreOpen say that what few need is filled in.
	RequestOpen, MoreOpen bool
}

// kindHeartbeat is the type that nothing is probed for: it has no interval and no regions of its own.
const kindHeartbeat = "heartbeat"

// checkFormView is what the template check_form shows.
type checkFormView struct {
	Form     *form
	Edit     bool
	Conflict bool   // it was changed meanwhile
	Name     string // of the check that is edited
	Action   string // path to post to
	Back     string
	Hidden   []option // names and values
	Types    []typeTile
	Config   configView
	Probed   bool   // it has an interval and regions
	Title    *field // the name of the check
	Every    *field
	Regions  regionsView
	Retry    control
	Labels   control
	Enabled  *field
	Together *field // all regions at the same instants
	Evidence *field
	MoreOpen bool
	Rule     *ruleView
	Differ   []difference
	ByWhom   string
	Copy     *checkCopy
	Restored bool   // what was typed before came back
	Again    string // its address, to begin again
	// SecretNames are parts of names, as of headers, that say that the value is a secret.
	SecretNames string
	Aside       asideView
}

// typeTile is a check type to choose.
type typeTile struct {
	Name, Text, Href string
	Chosen           bool
}

// view makes the form.
func (c *checkForm) view() (*checkFormView, error) {
	c.forgot = nil
	v := &checkFormView{Form: c.form, Action: c.action, Back: "/app"}
	if c.stored != nil {
		v.Edit, v.Name, v.Back = true, c.stored.name, "/app/checks/"+c.stored.id.String()
	}
	c.fields = append(c.fields, &field{Name: "type", Label: "Type", Type: "group"})
	for _, t := range c.types.all {
		v.Types = append(v.Types, typeTile{Name: t.Type, Text: t.About, Chosen: t.Type == c.kind, Href: v.Action + "?type=" + t.Type})
	}
	v.Probed = c.kind != kindHeartbeat
	v.Title = c.input(field{Name: "name", Label: "Name", Autofill: "off", Placeholder: "Orders API"})
	v.Config = c.config(c.members(), "config")
	v.Every = c.input(field{Name: "interval_seconds", Label: "Every, in seconds", Mode: "numeric"})
	retry := retryMember()
	v.Retry = c.control(&retry, memberRetry)
	v.Labels = c.control(
		&member{name: "labels", label: "Labels", input: asPairs, add: "Add label", help: "To group and to filter checks."},
		"labels",
	)
	v.Enabled = c.toggle("enabled", "Enabled")
	v.Together = c.toggle("simultaneous_regions", "All regions at the same instants")
	v.Together.Help = "Otherwise they are spread evenly over the interval."
	v.Evidence = c.toggle("evidence", "Keep evidence of failures")
	v.Evidence.Help = "Status line, headers, the beginning of the body, DNS answers and certificates."
	v.MoreOpen = v.Config.MoreOpen || c.filled(&retry, memberRetry) || len(v.Labels.Rows) > 0 || !v.Enabled.Checked || !v.Together.Checked ||
		!v.Evidence.Checked
	var err error
	if v.Regions, err = c.regions(); err != nil {
		return nil, err
	}
	if c.stored == nil {
		if v.Rule, err = c.r.rule(c.form, c.typed, c.kind); err != nil {
			return nil, err
		}
	}
	c.showCopy(v)
	v.Restored, v.SecretNames = c.restored, strings.Join(secret.CredentialParts(), " ")
	if v.Again = c.action; c.copied != nil {
		v.Again += "?from=" + c.copied.ID
	}
	if v.Aside, err = c.aside(); err != nil {
		return nil, err
	}
	v.Hidden = []option{{Value: c.kind, Text: "type"}, {Value: c.kind, Text: formFrom}}
	for _, name := range []string{formKey, formRevision, formCopy} {
		if value := c.typed.Get(name); value != "" {
			v.Hidden = append(v.Hidden, option{Value: value, Text: name})
		}
	}
	v.Hidden = append(v.Hidden, c.otherTypes()...)
	for _, path := range c.forgot {
		v.Hidden = append(v.Hidden, option{Value: path, Text: formSecrets})
	}
	return v, nil
}

// input declares a field with what was typed.
func (c *checkForm) input(declared field) *field {
	declared.Value = c.typed.Get(declared.Name)
	for i := range declared.Options {
		declared.Options[i].Chosen = declared.Options[i].Value == declared.Value
	}
	if note := c.read[declared.Name]; note != "" {
		declared.Help = strings.TrimSpace(note + " " + declared.Help)
	}
	c.fields = append(c.fields, &declared)
	return &declared
}

func (c *checkForm) toggle(name, label string) *field {
	f := &field{Name: name, Label: label, Type: "checkbox", Checked: c.typed.Has(name)}
	c.fields = append(c.fields, f)
	return f
}

// config makes the controls of a config at a path.
func (c *checkForm) config(members []member, path string) configView {
	var v configView
	for i := range members {
		m := &members[i]
		made := c.control(m, path+"."+m.name)
		switch m.place {
		case placeTime:
			v.Time = append(v.Time, made)
		case placeRequest:
			v.Request, v.RequestOpen = append(v.Request, made), v.RequestOpen || c.filled(m, path+"."+m.name)
		case placeExpect:
			v.Expect = append(v.Expect, made)
		case placeMore:
			v.More, v.MoreOpen = append(v.More, made), v.MoreOpen || c.filled(m, path+"."+m.name)
		default:
			v.Address = append(v.Address, made)
		}
	}
	return v
}

// filled reports whether a member has a value that an empty form does not have.
func (c *checkForm) filled(m *member, path string) bool { return m.valueOf(c.typed, path, "") != nil }

// control makes the control of a member.
func (c *checkForm) control(m *member, path string) control {
	made := control{Kind: "field", Width: m.width, Add: m.add, Post: c.action}
	f := field{
		Name: path, Label: m.label, Help: m.help, Mono: m.mono, Placeholder: m.sample, Autofill: "off",
		Secret: m.secrecy(path), Scheme: m.scheme(), Host: m.isHost(),
	}
	switch m.input {
	case asPairs, asRows, asGroup:
		f.Type = map[inputKind]string{asPairs: "pairs", asRows: "rows", asGroup: "group"}[m.input]
		made.Kind, made.field = f.Type, &f
		c.fields = append(c.fields, &f)
		for i := range m.members {
			if m.input == asGroup {
				made.Inner = append(made.Inner, c.control(&m.members[i], path+"."+m.members[i].name))
			}
		}
		if m.input != asGroup {
			made.Rows = c.rows(m, path)
		}
		return made
	case asSwitch:
		made.field = c.toggle(path, m.label)
		return made
	case asSecret:
		made.field = c.secret(f, c.typed.Get(path))
		return made
	case asSecretArea:
		f.Type, f.Rows = "textarea", 3
		made.field = c.hide(f, c.typed.Get(path))
		return made
	case asArea, asLines:
		f.Type, f.Rows = "textarea", 3
	case asNumber:
		f.Mode = "decimal"
	case asChoice, asDecision:
		f.Type, f.Options = "select", slices.Clone(m.choices)
	default: // nothing more to do for the others
	}
	made.field = c.input(f)
	return made
}

// secret declares the field of a secret. A stored one stays masked; one that was typed is
// not sent back, so that no page holds it.
func (c *checkForm) secret(f field, value string) *field {
	f.Type, f.Autofill = "password", "new-password"
	return c.hide(f, value)
}

func (c *checkForm) hide(f field, value string) *field {
	switch {
	case value == secret.Mask:
		f.Value, f.Help = value, "Kept as it is stored. Type to replace it."
	case value != "" && c.r.Method == http.MethodPost, value == "" && slices.Contains(c.typed.Values[formSecrets], f.Name):
		c.forgot = append(c.forgot, f.Name)
		f.Help = "Type it again: what is secret is not sent back to the page."
	}
	c.fields = append(c.fields, &f)
	return &f
}

// rows makes the rows of a list.
func (c *checkForm) rows(m *member, path string) []controlRow {
	var rows []controlRow
	for n, i := range c.typed.rows(path) {
		at := element(path, i)
		row := controlRow{Path: at, Number: n + 1, Added: at == c.added, Post: c.action, field: &field{Name: at, Label: m.label, Type: "row"}}
		c.fields = append(c.fields, row.field)
		switch {
		case m.input == asPairs:
			row.Inner = c.pairRow(m, at)
		case slices.ContainsFunc(m.members, func(inner member) bool { return inner.input == asConfig }):
			row.Step = c.step(m, at)
		default:
			for k := range m.members {
				row.Inner = append(row.Inner, c.control(&m.members[k], at+"."+m.members[k].name))
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// pairRow makes the row of one header or label. The value of a header whose name says
// credential is a secret.
func (c *checkForm) pairRow(m *member, at string) []control {
	name := c.input(field{Name: at + ".name", Label: "Name", Mono: m.mono, Autofill: "off"})
	value := field{Name: at + ".value", Label: "Value", Mono: m.mono, Autofill: "off"}
	if m.maskNames {
		value.Secret = "by-name"
	}
	inner := []control{{Kind: "field", field: name, Width: "medium"}, {Kind: "field"}}
	if typed := c.typed.Get(value.Name); m.maskNames && secret.IsCredentialName(name.Value) {
		if typed == secret.Mask {
			value.Type = "password"
		}
		inner[1].field = c.hide(value, typed)
	} else {
		inner[1].field = c.input(value)
	}
	return inner
}

// step makes the controls of a step.
func (c *checkForm) step(m *member, at string) *stepView {
	v := &stepView{Types: "show:" + at + ".config"}
	for i := range m.members {
		inner := &m.members[i]
		path := at + "." + inner.name
		switch inner.name {
		case "name":
			v.Name = c.control(inner, path)
		case "type":
			v.Type = c.control(inner, path)
		case "config":
			v.Config = c.config(inner.types.members(c.typed.Get(at+".type")), path)
			v.Config.More = append(v.Config.Time, v.Config.More...)
		case "extract":
			v.Extract = c.control(inner, path)
		}
	}
	return v
}

// reveal opens the parts of the form that have something wrong in them.
func (c *checkForm) reveal(v *checkFormView) {
	v.Config.reveal()
	v.MoreOpen = v.MoreOpen || anyWrong(v.Config.More) || anyWrong([]control{v.Retry, v.Labels}) ||
		v.Enabled.Error != "" || v.Together.Error != "" || v.Evidence.Error != ""
	for _, continent := range v.Regions.Others {
		for _, region := range continent.Regions {
			v.Regions.Open = v.Regions.Open || region.Chosen
		}
	}
}

func (v *configView) reveal() {
	v.RequestOpen = v.RequestOpen || anyWrong(v.Request)
	v.MoreOpen = v.MoreOpen || anyWrong(v.More)
	for i := range v.Address {
		for k := range v.Address[i].Rows {
			if step := v.Address[i].Rows[k].Step; step != nil {
				step.Config.reveal()
			}
		}
	}
}

func anyWrong(controls []control) bool {
	return slices.ContainsFunc(controls, func(each control) bool {
		wrong := each.Error != "" || anyWrong(each.Inner)
		for _, row := range each.Rows {
			wrong = wrong || row.field.Error != "" || anyWrong(row.Inner)
		}
		return wrong
	})
}

// unsent returns the fields of secrets that were typed earlier, are not in the page any
// more and were not typed again.
func unsent(typed *sheet) []string {
	var paths []string
	for _, path := range typed.Values[formSecrets] {
		if typed.Get(path) == "" && strings.HasPrefix(path, "config.") {
			paths = append(paths, path)
		}
	}
	return paths
}
