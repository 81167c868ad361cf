// SPDX-License-Identifier: Apache-2.0

package web

import (
	"time"

	"github.com/vigil-monitor/vigil/client"
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
	f.add(
		field{
			Name:        "config.url",
			Label:       "Address",
			Type:        "url",
			Placeholder: "https://",
			Focus:       true,
			Mono:        true,
			Required:    true,
			Autofill:    "url",
		},
	)
	command := "curl -s " + r.s.deps.Config.PublicURL + "/v1/checks \\\n  -H \"Authorization: Bearer $KEY\" \\\n" +
		"  -d '{\"name\":\"Home page\",\"type\":\"https\",\n" +
		"       \"interval_seconds\":60,\n       \"config\":{\"url\":\"https://www.example.com\"}}'"
	return &firstBody{Form: f, Every: spanExact(firstEvery), Command: command}
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
