// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/client"
)

// keysBody is what the list of API keys shows.
type keysBody struct {
	Rows  []keyRow
	Shown *newKey // that was just created
	Total string
	Empty *empty
}

// newKey is a key that is shown once.
type newKey struct{ Name, Key string }

// keyRow is a row of the list.
type keyRow struct {
	ID, Name, Prefix, Scopes string
	Mark                     mark
	Created, Used, Expires   stamp
	Never                    bool
	Revoke                   string
}

// keyFormBody is what the page that creates a key shows.
type keyFormBody struct {
	Form   *form
	Scopes []option
}

func (s *Server) keyRoutes(on *routes) {
	on.page("GET /app/api-keys", func(r *request) error { return s.showKeys(r, http.StatusOK, nil) })
	on.page("GET /app/api-keys/new", s.newKeyPage)
	on.page("POST /app/api-keys", s.createKey)
	on.page("GET /app/api-keys/{id}/revoke", s.confirmRevoke)
	on.page("POST /app/api-keys/{id}/revoke", s.revokeKey)
}

func (r *request) keys() ([]client.Key, client.Meta, error) {
	limit := int64(100)
	list, err := r.api.ListApiKeysWithResponse(r.Context(), &client.ListApiKeysParams{Limit: &limit})
	if err != nil {
		return nil, client.Meta{}, err
	}
	return list.JSON200.Data, list.JSON200.Meta, nil
}

func (s *Server) showKeys(r *request, status int, shown *newKey) error {
	keys, meta, err := r.keys()
	if err != nil {
		return err
	}
	body := &keysBody{Shown: shown, Total: counted(totalOf(meta), "key")}
	for k := range keys {
		body.Rows = append(body.Rows, keyRowOf(r, &keys[k]))
	}
	if len(body.Rows) == 0 {
		body.Empty = &empty{
			Icon: "key", Title: "No API key", Text: "A key is for programs: the command line, a script, another service.",
			Action: &link{Text: "New key", Href: "/app/api-keys/new"}, Key: "c",
		}
	}
	return r.render(status, "api_keys", page{Title: "API keys", Nav: navKeys, Body: body})
}

func keyRowOf(r *request, k *client.Key) keyRow {
	row := keyRow{
		ID: k.Id.String(), Name: k.Name, Prefix: k.KeyPrefix + "…", Created: r.dayOf(k.CreatedAt), Never: k.ExpiresAt == nil,
		Mark: newMark("up", "Valid"), Revoke: "/app/api-keys/" + k.Id.String() + "/revoke",
	}
	scopes := make([]string, len(k.Scopes))
	for i, scope := range k.Scopes {
		scopes[i] = string(scope)
	}
	row.Scopes = strings.Join(scopes, ", ")
	if len(scopes) == len(scopeWords()) {
		row.Scopes = "all"
	}
	if k.LastUsedAt != nil {
		row.Used = r.ago(*k.LastUsedAt)
		row.Used.Text += " ago"
	}
	if k.ExpiresAt != nil {
		row.Expires = r.dayOf(*k.ExpiresAt)
		if k.ExpiresAt.Before(r.now) {
			row.Mark = newMark("paused", "Expired")
		}
	}
	return row
}

// dayOf shows a day.
func (r *request) dayOf(t time.Time) stamp {
	s := r.date(t)
	if s.ISO != "" {
		s.Text = t.In(r.prefs.Zone).Format("2 Jan 2006")
	}
	return s
}

func keyForm(r *request) *keyFormBody {
	f := newForm(r)
	f.Heading = "Not created yet."
	f.add(field{
		Name: "name", Label: "Name", Required: true, Focus: true, Placeholder: "deployment",
		Help: "What it is for, to recognize it later.",
	})
	f.add(field{
		Name: "expires_at", Label: "Expires on", Type: "date",
		Help: "The key stops to work at the start of this day, UTC. Empty: never.",
	})
	f.add(field{Name: "scopes", Label: "What the key may do"})
	body := &keyFormBody{Form: f, Scopes: scopeWords()}
	for i := range body.Scopes {
		body.Scopes[i].Chosen = f.values == nil || slices.Contains(f.values["scopes"], body.Scopes[i].Value)
	}
	return body
}

func (s *Server) newKeyPage(r *request) error {
	return r.render(http.StatusOK, "api_key", page{Title: "New API key", Nav: navKeys, Body: keyForm(r)})
}

// createKey answers with the list and the key, which is shown this once. It does not
// redirect: nothing keeps the key for another request.
func (s *Server) createKey(r *request) error {
	form := keyForm(r)
	f := form.Form
	body := client.CreateApiKeyJSONRequestBody{Name: f.get("name")}
	refused := func() error {
		return r.render(f.Status, "api_key", page{Title: "New API key", Nav: navKeys, Body: form})
	}
	scopes := []client.KeyRequestScopes{}
	for _, scope := range f.values["scopes"] {
		scopes = append(scopes, client.KeyRequestScopes(scope))
	}
	body.Scopes = &scopes
	if day := f.get("expires_at"); day != "" {
		at, err := time.Parse(time.DateOnly, day)
		if err != nil {
			f.Status = http.StatusUnprocessableEntity
			f.reject("expires_at", "must be a day, such as 2027-01-31")
			return refused()
		}
		body.ExpiresAt = &at
	}
	made, err := r.api.CreateApiKeyWithResponse(r.Context(), nil, body)
	if err != nil {
		if f.refused(err) {
			return refused()
		}
		return err
	}
	return s.showKeys(r, http.StatusCreated, &newKey{Name: made.JSON201.Data.Name, Key: made.JSON201.Data.ApiKey})
}

// findKey returns the key of the path.
func (r *request) findKey() (*client.Key, error) {
	id, err := r.pathID("id")
	if err != nil {
		return nil, err
	}
	keys, _, err := r.keys()
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(keys, func(k client.Key) bool { return k.Id == id }); i >= 0 {
		return &keys[i], nil
	}
	return nil, &APIError{Status: http.StatusNotFound, Code: "not_found", Message: "There is no such key. It may have been revoked already."}
}

func (s *Server) confirmRevoke(r *request) error {
	key, err := r.findKey()
	if err != nil {
		return err
	}
	ask := confirm{
		Title: "Revoke the key “" + key.Name + "”?", Button: "Revoke", Back: "/app/api-keys",
		Action: "/app/api-keys/" + key.Id.String() + "/revoke",
		Text:   "Requests with " + key.KeyPrefix + "… are refused within seconds, and streams that are open with it end. It cannot be undone.",
	}
	return r.render(http.StatusOK, "confirm", page{Title: "Revoke " + key.Name, Nav: navKeys, Body: ask})
}

func (s *Server) revokeKey(r *request) error {
	id, err := r.pathID("id")
	if err != nil {
		return err
	}
	if _, err := r.api.DeleteApiKeyWithResponse(r.Context(), id); err != nil {
		return err
	}
	r.flash(flash{Mark: "done", Text: "The key is revoked"})
	return r.redirect("/app/api-keys")
}
