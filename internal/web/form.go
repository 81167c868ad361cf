// SPDX-License-Identifier: Apache-2.0

package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// field is a control of a form with its label. Its name is the member of the API that it
// fills, such as config.url, or one that form.alias maps to it.
type field struct {
	Name, Label string
	Help        string
	Type        string // of the input; text by default. textarea and select are others.
	Value       string
	Options     []option // of a select
	Autofill    string   // autocomplete
	Mode        string   // inputmode
	Placeholder string
	Required    bool
	Focus       bool
	Mono        bool // what a machine reads
	Rows        int  // of a textarea
	Min, Max    string
	Checked     bool // of a checkbox
	Key         string

	// Secret says when a browser must not keep what was typed, for static/forms.js: always, by-name (of a
	// header), query, or if: and the name of a checkbox.
	Secret string
	Scheme string // an address without a scheme gets it
	Host   bool   // of an address that is typed, its host is meant

	Error string // the API's message
}

// ID is the id of the control.
func (f *field) ID() string { return safeID("f-" + f.Name) }

// Describe lists the ids of what describes the control.
func (f *field) Describe() string {
	var ids []string
	if f.Error != "" {
		ids = append(ids, f.ID()+"-error")
	}
	if f.Help != "" {
		ids = append(ids, f.ID()+"-help")
	}
	return strings.Join(ids, " ")
}

// option is a choice of a select.
type option struct {
	Value, Text string
	Chosen      bool
}

// words makes the choices of a select, by their values with their texts in turn.
func words(pairs ...string) []option {
	list := make([]option, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		list = append(list, option{Value: pairs[i], Text: pairs[i+1]})
	}
	return list
}

// problem is a line of a form's summary of errors.
type problem struct {
	Label, Link string // of the field
	Message     string
}

// form is a form with what was typed and what is wrong with it.
type form struct {
	Status   int    // of the answer that shows it
	Message  string // what is wrong, when no field is
	Problems []problem
	// Heading starts the summary of errors, such as "Not created yet."
	Heading string

	values url.Values
	fields []*field
}

// newForm reads what was posted. A GET has no values, so that fields keep those that they
// are declared with.
func newForm(r *request) *form {
	f := &form{Status: http.StatusOK, Heading: "Not saved yet."}
	if r.Method == http.MethodPost {
		_ = r.ParseForm() // what cannot be read is missing, and the API says so
		f.values = r.PostForm
	}
	return f
}

// add declares a field. What was posted replaces its value.
func (f *form) add(declared field) *field {
	if f.values != nil {
		if declared.Type == "checkbox" {
			declared.Checked = f.values.Has(declared.Name)
		} else if declared.Type != "password" || f.values.Has(declared.Name) {
			declared.Value = f.values.Get(declared.Name)
		}
	}
	for i := range declared.Options {
		declared.Options[i].Chosen = declared.Options[i].Value == declared.Value
	}
	f.fields = append(f.fields, &declared)
	return &declared
}

// Field returns a declared field by its name.
func (f *form) Field(name string) (*field, error) {
	for _, known := range f.fields {
		if known.Name == name {
			return known, nil
		}
	}
	return nil, errors.New("web: the form has no field " + name)
}

// get returns what was posted for a field.
func (f *form) get(name string) string { return f.values.Get(name) }

// refused reports whether err is something that the user can change, and puts the API's
// messages where they belong. Other errors have a page of their own.
func (f *form) refused(err error) bool {
	known, ok := errors.AsType[*APIError](err)
	if !ok {
		return false
	}
	switch known.Status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		f.Status = http.StatusUnprocessableEntity
	case http.StatusConflict, http.StatusForbidden, http.StatusUnauthorized, http.StatusPreconditionFailed, http.StatusTooManyRequests,
		http.StatusRequestEntityTooLarge, http.StatusServiceUnavailable:
		f.Status = known.Status
	default:
		return false
	}
	found := false
	for _, wrong := range problemsOf(known) {
		if f.reject(wrong[0], wrong[1]) {
			found = true
		} else {
			f.Problems = append(f.Problems, problem{Message: wrong[0] + ": " + wrong[1]})
		}
	}
	if !found && len(f.Problems) == 0 {
		f.Message = known.Message
	}
	return true
}

// reject puts a message under a field, or under the one whose member it is below: an
// error of config.headers.accept belongs to the field config.headers.
func (f *form) reject(member, message string) bool {
	for at := member; at != ""; {
		if i := slices.IndexFunc(f.fields, func(known *field) bool { return known.Name == at }); i >= 0 {
			wrong := f.fields[i]
			if at != member {
				message = strings.TrimPrefix(member, at+".") + ": " + message
			}
			if wrong.Error == "" {
				wrong.Error = message
				f.Problems = append(f.Problems, problem{Label: wrong.Label, Link: "#" + wrong.ID(), Message: message})
			}
			return true
		}
		at = at[:max(strings.LastIndexByte(at, '.'), strings.LastIndexByte(at, '['), 0)]
	}
	return false
}

// problemsOf returns the members that an answer names, with their messages.
func problemsOf(e *APIError) [][2]string {
	member, _ := e.Details["member"].(string)
	if member == "" {
		return nil
	}
	found := [][2]string{{member, strings.TrimPrefix(e.Message, member+": ")}}
	list, _ := e.Details["problems"].([]any)
	for _, item := range list {
		each, _ := item.(map[string]any)
		name, _ := each["member"].(string)
		message, _ := each["message"].(string)
		if name != "" && name != member {
			found = append(found, [2]string{name, message})
		}
	}
	return found
}

// safeID makes an id of an element.
func safeID(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '-'
	}, text)
}
