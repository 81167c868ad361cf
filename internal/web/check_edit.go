// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
)

// editCheck shows the form of a check, and saves what was posted.
func (s *Server) editCheck(r *request) error {
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil {
		return errNoPage()
	}
	stored, err := r.storedCheck(id)
	if err != nil {
		return err
	}
	c, err := newCheckForm(r, stored)
	if err != nil {
		return err
	}
	if r.Method == http.MethodGet {
		return c.show()
	}
	if done, err := c.act(); done || err != nil {
		return err
	}
	return c.save()
}

// storedCheck reads a check.
func (r *request) storedCheck(id uuid.UUID) (*storedCheck, error) {
	types, err := r.checkTypes()
	if err != nil {
		return nil, err
	}
	answer, err := r.api.GetCheckWithResponse(r.Context(), id, nil)
	if err != nil {
		return nil, err
	}
	return storedCheckOf(types, answer.Body, answer.HTTPResponse.Header.Get("Etag"))
}

// save changes the check, unless it is another one than the form began with.
func (c *checkForm) save() error {
	c.typed.tidy(append(emptyPairs(c.members(), c.typed, "config"), emptyRows(c.typed, "labels")...))
	if again := unsent(c.typed); len(again) > 0 {
		return c.askAgain(again)
	}
	c.keepLines()
	c.readAddresses()
	body := c.body()
	if c.sameConfig(body.Config) {
		// The stored config may say the same in other words; it stays as it is.
		body.Config, body.Type = nil, ""
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	based := &client.UpdateCheckParams{IfMatch: givenOrNil(c.typed.Get(formRevision))}
	saved, err := c.r.api.UpdateCheckWithBodyWithResponse(c.r.Context(), c.stored.id, based, jsonType, bytes.NewReader(text))
	if known, ok := errors.AsType[*APIError](err); ok && known.Status == http.StatusPreconditionFailed {
		return c.showConflict()
	}
	if err != nil {
		return c.refuse(err)
	}
	c.r.flash(flash{Mark: "up", Text: c.withAddresses("Saved")}.warn(saved.JSON200.Data.Warnings))
	return c.r.redirect("/app/checks/" + c.stored.id.String())
}

// keepLines gives texts the line breaks that they are stored with: a browser sends each of
// them as a carriage return and a line feed.
func (c *checkForm) keepLines() {
	stored := c.stored.entered()
	for name := range c.typed.Values {
		if was := stored.Get(name); strings.Contains(was, "\n") && lines(was) == lines(c.typed.Get(name)) {
			c.typed.Set(name, was)
		}
	}
}

func lines(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// sameConfig reports whether a config says what the stored one says.
func (c *checkForm) sameConfig(config map[string]any) bool {
	if c.kind != c.stored.kind {
		return false
	}
	return reflect.DeepEqual(config, configOf(c.members(), c.stored.entered(), "config"))
}

// askAgain shows the form with a word at the secrets that were typed and are not in the
// page any more. It asks once: a form that is sent like that again goes without them.
func (c *checkForm) askAgain(paths []string) error {
	c.typed.Del(formSecrets)
	view, err := c.view()
	if err != nil {
		return err
	}
	for _, path := range paths {
		c.reject(path, "type it again, or send the form once more to go without it")
	}
	c.Status = http.StatusUnprocessableEntity
	c.reveal(view)
	return c.render(view)
}

// difference is a field of the form that a check has otherwise by now.
type difference struct{ Label, Mine, Theirs string }

// showConflict shows the form of a check that was changed after the form began, with both
// values of what differs. Saving it again keeps what was typed.
func (c *checkForm) showConflict() error {
	theirs := c.stored.entered()
	view, err := c.view()
	if err != nil {
		return err
	}
	for _, known := range c.fields {
		if known.Type == "password" || slices.Contains([]string{"group", "rows", "pairs", "row"}, known.Type) {
			continue
		}
		mine := c.typed.Get(known.Name)
		if other := theirs.Get(known.Name); mine != other {
			view.Differ = append(view.Differ, difference{Label: known.Label, Mine: said(mine), Theirs: said(other)})
		}
	}
	mine, other := slices.Sorted(slices.Values(c.typed.Values["regions"])), slices.Sorted(slices.Values(theirs.Values["regions"]))
	if !slices.Equal(mine, other) {
		view.Differ = append(view.Differ, difference{Label: "Regions", Mine: said(c.r.cityList(mine)), Theirs: said(c.r.cityList(other))})
	}
	for i := range view.Hidden {
		if view.Hidden[i].Text == formRevision {
			view.Hidden[i].Value = c.stored.revision
		}
	}
	view.Conflict, view.ByWhom = true, c.r.changedBy(c.stored.id)
	c.Status = http.StatusPreconditionFailed
	return c.render(view)
}

// said words a value of a field in a table.
func said(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

// changedBy names who changed a resource last, as the audit log has it; empty when it is
// not among the newest entries.
func (r *request) changedBy(id uuid.UUID) string {
	list, err := r.api.ListAuditLogWithResponse(r.Context(), nil)
	if err != nil {
		return ""
	}
	for _, each := range list.JSON200.Data {
		if each.ResourceId == nil || *each.ResourceId != id {
			continue
		}
		switch {
		case each.KeyPrefix != nil:
			return "by the API key " + *each.KeyPrefix
		case each.UserId != nil && *each.UserId == r.who.UserID:
			return "by you"
		case each.UserId != nil:
			return "by " + cmp.Or(orNone(each.UserName), orNone(each.UserEmail), "another member")
		}
		return ""
	}
	return ""
}

func orNone(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// firstAddress creates a check from one address: its type is that of the scheme, and its
// name that of the host. What the API does not take is shown in the whole form.
func (s *Server) firstAddress(r *request) error {
	c, err := newCheckForm(r, nil)
	if err != nil {
		return err
	}
	address := strings.TrimSpace(c.typed.Get("config.url"))
	kind, config, name := c.types.readAddress(address)
	c.typed, c.kind = newSheet(), ""
	c.begin(kind)
	for member, value := range config {
		c.typed.Set("config."+member, fmt.Sprint(value))
	}
	c.typed.Set("name", name)
	if err := c.chooseRegions(); err != nil {
		return err
	}
	return c.create()
}

// readAddress returns what a check of an address begins with. Without a scheme it has that of the
// first type; one that is no type's is left to the API to refuse.
func (t *checkTypes) readAddress(address string) (kind string, config map[string]any, name string) {
	first := &t.list[0]
	if address != "" && !strings.Contains(address, "://") && len(first.Schemes) > 0 {
		address = first.Schemes[0] + "://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return first.Type, map[string]any{orNone(first.Target): address}, ""
	}
	if of := client.TypeOfScheme(t.list, u.Scheme); of != nil && of.Target != nil {
		return of.Type, of.Locate(address, u), u.Hostname()
	}
	return first.Type, map[string]any{orNone(first.Target): address}, u.Hostname()
}
