// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"context"
	"net/http"

	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/events"
)

// templateVariableView is a name that message templates may hold.
type templateVariableView struct {
	Name        string `json:"name" example:"check_name"`
	Placeholder string `json:"placeholder" doc:"The variable as a template holds it." example:"{{check_name}}"`
	Type        string `json:"type" enum:"string,integer,number,uuid,date-time,uri" doc:"What the text that is put in its place can be read as."`
	Description string `json:"description"`
	Example     string `json:"example"`
}

func showVariable(v events.Variable) templateVariableView {
	return templateVariableView{
		Name: v.Name, Placeholder: v.Placeholder(), Type: v.Type, Description: v.Description, Example: v.Example,
	}
}

type templateVariables struct{}

func (templateVariables) Register(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: "/v1/template-variables", ID: "list-template-variables", Tag: resource.TagChannels, Open: true,
		Summary: "List the variables of message templates",
		Description: "A channel's config may have `title_template` and `body_template`, texts that hold any of these placeholders. Each is " +
			"replaced by its value, escaped for where it goes.",
	}, func(_ context.Context, in *struct{ rest.PageQuery }) (*rest.Listing[templateVariableView], error) {
		all := events.Variables()
		return rest.NewListing(rest.Cut(all, in.Page()), len(all), showVariable), nil
	})
}
