// SPDX-License-Identifier: Apache-2.0

package web

import (
	"crypto/rand"
	"net/http"
	"strings"

	"github.com/vigil-monitor/vigil"
)

// Fields of the form that are no members of the API.
const (
	formAction   = "do"       // what a button other than Create does: add:config.headers, remove:labels[0]
	formKey      = "key"      // the Idempotency-Key of what the form creates
	formRevision = "revision" // of the check that is edited
	formFrom     = "from"     // the type that the fields are of
	formSecrets  = "kept"     // paths of secrets that were typed and are not in the page any more
	formCopy     = "copy"     // the check that a new one is a copy of
	formRules    = "copy_rule"
)

// checkFormRoutes registers the pages that create and edit a check.
func (s *Server) checkFormRoutes(on *routes) {
	on.page("GET /app/checks/new", s.newCheck)
	on.page("POST /app/checks/new", s.newCheck)
	on.page("POST /app/checks/first", s.firstAddress)
	on.page("GET /app/checks/{id}/edit", s.editCheck)
	on.page("POST /app/checks/{id}/edit", s.editCheck)
}

// checkForm is the form of a check while a request is answered.
type checkForm struct {
	*form

	r      *request
	types  *checkTypes
	kind   string // the type of the check
	typed  *sheet
	stored *storedCheck // nil for a new check
	added  string       // the row that a button has added
	tried  *trial       // what a test showed; nil without one
	forgot []string     // fields whose secret was typed, and is not shown again
	action string       // path that the form posts to
	copied *checkCopy   // of which check it is a copy; nil: none
	// restored: what was typed before comes back.
	restored bool
	// read says what was made of addresses, by their fields.
	read map[string]string
}

// newCheckForm reads what was posted, or begins an empty form.
func newCheckForm(r *request, stored *storedCheck) (*checkForm, error) {
	types, err := r.checkTypes()
	if err != nil {
		return nil, err
	}
	c := &checkForm{form: newForm(r), r: r, types: types, stored: stored, typed: newSheet(), action: "/app/checks/new"}
	c.Heading = "Not created yet."
	if stored != nil {
		c.Heading, c.action = "Not saved yet.", "/app/checks/"+stored.id.String()+"/edit"
	}
	if r.Method == http.MethodPost {
		posted, err := r.posted()
		if err != nil {
			return nil, err
		}
		c.typed, c.kind = &sheet{Values: posted}, posted.Get("type")
		if rows := c.typed.rowCount(); rows > maxRows {
			return nil, errForm("The form has %d rows. A check has at most %d.", rows, maxRows)
		}
		return c, c.readCopy()
	}
	if stored != nil {
		c.kind, c.typed = stored.kind, stored.entered()
		c.typed.Set(formRevision, stored.revision)
	}
	if from := r.idParameter("from"); stored == nil && from != nil {
		return c, c.copyOf(*from)
	}
	if kind := r.URL.Query().Get("type"); kind != "" && kind != c.kind || stored == nil {
		c.begin(kind)
	}
	return c, nil
}

// begin fills the form with what a new check of a type begins with. What the form has
// already stays where the type has such a field.
func (c *checkForm) begin(kind string) {
	before := c.typed
	if c.types.named(kind) == nil {
		kind = c.types.first()
	}
	alike := c.types.alike(kind, c.kind)
	const failures = firstRulePath + "condition.failure_threshold"
	if before.Get(failures) == usualFailures(c.kind) {
		before.Set(failures, usualFailures(kind))
	}
	old := c.kind
	if c.kind = kind; alike {
		return
	}
	c.changeType(before, old)
	if before.Has(formKey) || c.stored != nil {
		return
	}
	c.typed.Set("interval_seconds", "60")
	c.typed.Set("enabled", "true")
	c.typed.Set("simultaneous_regions", "true")
	c.typed.Set("evidence", "true")
	c.typed.Set(formKey, rand.Text())
	beginRule(c.typed, kind)
}

// members are those of the config of the form's type.
func (c *checkForm) members() []member { return c.types.members(c.kind) }

// newCheck shows the form of a new check, and creates what was posted.
func (s *Server) newCheck(r *request) error {
	c, err := newCheckForm(r, nil)
	if err != nil {
		return err
	}
	if r.Method == http.MethodGet {
		if c.copied == nil {
			if err := c.chooseRegions(); err != nil {
				return err
			}
		}
		return c.show()
	}
	if done, err := c.act(); done || err != nil {
		return err
	}
	return c.create()
}

// act does what a button says that changes the form only, and shows the form again. It
// reports whether there was such a button.
func (c *checkForm) act() (bool, error) {
	verb, path, _ := strings.Cut(c.typed.Get(formAction), ":")
	c.typed.Del(formAction)
	switch verb {
	case "type":
		c.kind = c.typed.Get(formFrom)
		c.begin(c.r.URL.Query().Get("type"))
	case "add":
		c.added = addRow(c.memberAt(path), c.typed, path)
	case "remove":
		dropRow(c.typed, path)
	case "show": // a step has another type
		if rest, ok := strings.CutSuffix(path, ".config"); ok {
			c.showStep(rest)
		}
	case "restore": // what a browser kept of the form, see static/forms.js
		c.restored = true
	case "test":
		c.readAddresses()
		if err := c.try(); err != nil {
			return true, err
		}
	default:
		return false, nil
	}
	return true, c.show()
}

// memberAt returns the member of a path of the form, nil for an object with free names
// that is no part of the config.
func (c *checkForm) memberAt(path string) *member {
	return memberAt(c.members(), c.typed, "config", path)
}

// showStep gives a step the fields of its type: those of another type are dropped.
func (c *checkForm) showStep(step string) {
	members, at := c.types.members(c.typed.Get(step+".type")), step+".config"
	for name := range c.typed.Values {
		if strings.HasPrefix(name, at+".") && memberAt(members, c.typed, at, name) == nil {
			c.typed.Del(name)
		}
	}
	config := map[string]any{}
	for i := range members {
		if name := members[i].name; c.typed.Get(at+"."+name) != "" && members[i].input != asSwitch {
			config[name] = c.typed.Get(at + "." + name)
		}
	}
	enterConfig(members, config, c.typed, at)
}

// create creates the check and its first rule, both or none.
func (c *checkForm) create() error {
	c.typed.tidy(append(emptyPairs(c.members(), c.typed, "config"), emptyRows(c.typed, "labels")...))
	if again := unsent(c.typed); len(again) > 0 {
		return c.askAgain(again)
	}
	c.readAddresses()
	id, err := c.r.makeCheck(c.body(), c.typed.Get(formKey))
	if err != nil {
		return c.refuse(err)
	}
	c.r.s.nav.forget(c.r.who.UserID)
	text := "Created. First result in a few seconds."
	if c.kind == kindHeartbeat {
		text = "Created. Its job pings the address below."
	}
	c.r.flash(flash{Mark: "up", Text: c.withAddresses(text)})
	return c.r.redirect("/app/checks/" + id.String())
}

// refuse shows the form with what the API says of it.
func (c *checkForm) refuse(err error) error {
	if refusedKey(err) {
		// The key made a check before; what the form says now is another one.
		c.typed.Set(formKey, rand.Text())
		err = &APIError{
			Status: http.StatusConflict, Code: string(vigil.CodeConflict),
			Message: "This form has created a check already, with other values. Create another check?",
		}
	}
	view, problem := c.view()
	if problem != nil {
		return problem
	}
	if !c.refused(c.located(err)) {
		return err
	}
	c.reveal(view)
	return c.render(view)
}

// refusedKey reports whether the API refuses an Idempotency-Key that stands for another
// request.
func refusedKey(err error) bool {
	member, _ := detailsOf(err)["member"].(string)
	return member == "Idempotency-Key"
}

// show shows the form.
func (c *checkForm) show() error {
	view, err := c.view()
	if err != nil {
		return err
	}
	return c.render(view)
}

func (c *checkForm) render(view *checkFormView) error {
	p := page{Title: "New check", Nav: navChecks, Body: view}
	if c.stored != nil {
		p.Title = "Edit " + c.stored.name
	}
	return c.r.render(c.Status, "check_form", p)
}
