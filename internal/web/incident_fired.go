// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/client"
)

// fired describes the result that made the rule fire; nil when it is not known any more.
func fired(r *request, i *client.Incident) *firedResult {
	result := i.Trigger.Result
	if result == nil {
		return nil
	}
	f := &firedResult{Where: r.city(result.Region) + ", " + r.clock(result.Time, false).Text}
	if result.StatusCode != nil {
		f.Code = fmt.Sprint(*result.StatusCode)
	}
	if result.ErrorMessage != nil {
		f.Error = *result.ErrorMessage
	}
	f.Facts = resultFacts(result)
	f.Evidence = evidenceOf(result)
	return f
}

// resultFacts are what a result's metadata say of the target.
func resultFacts(result *client.Result) []fact {
	raw, err := json.Marshal(result.Metadata)
	if err != nil {
		return nil
	}
	var m map[string]any
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	var facts []fact
	add := func(name, value string, mono bool) {
		if value != "" {
			facts = append(facts, fact{Name: name, Value: value, Mono: mono})
		}
	}
	text := func(key string) string {
		switch v := m[key].(type) {
		case string:
			return v
		case float64:
			return number(int64(v))
		}
		return ""
	}
	add("Address", text("ip"), true)
	if result.ResponseTimeMs > 0 {
		add("Took", number(result.ResponseTimeMs)+" ms", false)
	}
	protocol := []string{text("protocol"), text("tls_version")}
	add("Protocol", strings.Trim(strings.Join(protocol, ", "), ", "), false)
	if body := text("body_bytes"); body != "" {
		add("Body", body+" bytes", false)
	}
	add("Response code", text("rcode"), true)
	add("Resolver", text("resolver"), true)
	if loss := text("packet_loss_percent"); loss != "" {
		add("Packet loss", loss+" %", false)
	}
	add("Certificate", text("problem"), false)
	return append(facts, failedAttempts(m)...)
}

// dayTime shows a day and a time without the year.
func (r *request) dayTime(t time.Time) stamp {
	s := r.date(t)
	if s.ISO != "" {
		s.Text = t.In(r.prefs.Zone).Format("2 Jan, 15:04")
	}
	return s
}

func (s *Server) acknowledgeIncident(r *request) error {
	id, err := r.pathID("id")
	if err != nil {
		return err
	}
	_, err = r.api.AcknowledgeIncidentWithResponse(r.Context(), id, nil)
	return r.changedIncident("/app/incidents/"+id.String(), "Incident acknowledged", err)
}

// changedIncident leads back to the page from which an incident was changed.
func (r *request) changedIncident(page, text string, err error) error {
	if err != nil {
		if f := newForm(r); f.refused(err) {
			r.flash(flash{Mark: "down", Text: f.text()})
			return r.redirect(page)
		}
		return err
	}
	r.s.nav.forget(r.who.UserID)
	r.flash(flash{Mark: "done", Text: text})
	if back := r.PostFormValue("back"); back != "" {
		page = back
	}
	return r.redirect(page)
}

// text is what is wrong, in one sentence.
func (f *form) text() string {
	if f.Message != "" || len(f.Problems) == 0 {
		return f.Message
	}
	return f.Problems[0].Message
}

// resolveBody is what the page that asks for a note shows.
type resolveBody struct {
	ID, Title string
	Form      *form
}

func (s *Server) resolvePage(r *request) error {
	id, err := r.pathID("id")
	if err != nil {
		return err
	}
	found, err := r.api.GetIncidentWithResponse(r.Context(), id)
	if err != nil {
		return err
	}
	return r.render(http.StatusOK, "resolve", page{
		Title: "Resolve " + found.JSON200.Data.Title, Nav: navIncidents,
		Body: resolveBody{ID: id.String(), Title: found.JSON200.Data.Title, Form: resolveForm(r)},
	})
}

func resolveForm(r *request) *form {
	f := newForm(r)
	f.Heading = "Not resolved yet."
	f.add(field{
		Name: "note", Label: "Note", Type: "textarea", Rows: 4,
		Help: "What it was, for those who read the incident later. It may stay empty.",
	})
	return f
}

func (s *Server) resolveIncident(r *request) error {
	id, err := r.pathID("id")
	if err != nil {
		return err
	}
	f := resolveForm(r)
	body := client.ResolveIncidentJSONRequestBody{}
	if note := strings.TrimSpace(f.get("note")); note != "" {
		body.Note = &note
	}
	path := "/app/incidents/" + id.String()
	_, err = r.api.ResolveIncidentWithResponse(r.Context(), id, nil, body)
	if err != nil && f.refused(err) {
		found, missing := r.api.GetIncidentWithResponse(r.Context(), id)
		if missing != nil {
			return missing
		}
		return r.render(f.Status, "resolve", page{
			Title: "Resolve " + found.JSON200.Data.Title, Nav: navIncidents,
			Body: resolveBody{ID: id.String(), Title: found.JSON200.Data.Title, Form: f},
		})
	}
	return r.changedIncident(path, "Incident resolved", err)
}
