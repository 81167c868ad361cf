package web

import (
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"vigil/client"
)

// firstBody is the form of the first check: one field.
type firstBody struct {
	Form    *form
	Every   string
	Command string
}

// firstEvery is the interval of the first check. It is allowed on every tier.
const firstEvery = time.Minute

func firstForm(r *request) *firstBody {
	f := newForm(r)
	f.Heading = "Not created yet."
	f.add(field{Name: "config.url", Label: "Address", Type: "url", Placeholder: "https://", Focus: true, Mono: true, Required: true, Autofill: "url"})
	command := "curl -s " + r.s.deps.Config.PublicURL + "/v1/checks \\\n  -H \"Authorization: Bearer $KEY\" \\\n" +
		"  -d '{\"name\":\"Home page\",\"type\":\"https\",\n       \"interval_seconds\":60,\n       \"config\":{\"url\":\"https://www.example.com\"}}'"
	return &firstBody{Form: f, Every: spanExact(firstEvery), Command: command}
}

// firstCheck creates a check from an address alone and shows it.
func (s *Server) firstCheck(r *request) error {
	first := firstForm(r)
	address := strings.TrimSpace(first.Form.get("config.url"))
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	kind, name := "https", address
	if at, err := url.Parse(address); err == nil && at.Host != "" {
		name = at.Host + strings.TrimSuffix(at.Path, "/")
		if at.Scheme == "http" {
			kind = "http"
		}
	}
	created, err := r.createCheck(map[string]any{
		"name": name[:min(len(name), 200)], "type": kind, "interval_seconds": int(firstEvery.Seconds()), "config": map[string]any{"url": address},
	})
	if first.Form.refused(err) {
		return r.render(first.Form.Status, "checks", page{Title: "Checks", Nav: navChecks, Body: &overviewBody{First: first}})
	}
	if err != nil {
		return err
	}
	r.s.nav.forget(r.who.UserID)
	return r.redirect("/app/checks/" + created.Id.String())
}

// createCheck creates a check from the members of its body.
func (r *request) createCheck(members map[string]any) (*client.Check, error) {
	body, err := json.Marshal(members)
	if err != nil {
		return nil, err
	}
	made, err := r.api.CreateCheckWithBodyWithResponse(r.Context(), nil, "application/json", strings.NewReader(string(body)))
	if err != nil {
		return nil, err
	}
	return &made.JSON201.Data, nil
}

// similar finds a check whose name begins as the query does, for a list without a match.
func (r *request) similar(v checkView) *link {
	query := []rune(v.Query)
	if len(query) < 3 {
		return nil
	}
	limit := int64(1)
	for _, part := range [][]rune{query[:len(query)-1], query[:3], query[len(query)-3:]} {
		text := string(part)
		list, err := r.api.ListChecksWithResponse(r.Context(), &client.ListChecksParams{Query: &text, Limit: &limit})
		if err == nil && len(list.JSON200.Data) > 0 {
			found := list.JSON200.Data[0]
			return &link{Text: found.Name, Href: "/app/checks/" + found.Id.String()}
		}
	}
	return nil
}
