// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/probe"
)

// checkTypeInfoView is a check type with what a form needs to ask for its config.
type checkTypeInfoView struct {
	Type       vigil.CheckType   `json:"type" example:"https"`
	About      string            `json:"about" doc:"What it looks at, in a few words." example:"Status, body, phases"`
	Target     string            `json:"target,omitempty" doc:"The member of its config that an address of one line fills; absent without one." example:"url"`
	Schemes    []string          `json:"schemes" doc:"The schemes that an address of the target may have, the usual one first; empty where the target is no URL."`
	Conditions []string          `json:"conditions" doc:"The keys of a condition that its results can match, besides those that every type's can: failure_threshold, response_time_ms and health_status." example:"[\"status_code\"]"`
	Members    []checkMemberView `json:"members" doc:"The members of its config, in order."`
}

// checkMemberView is a member of a config.
type checkMemberView struct {
	Name        string            `json:"name" example:"max_body_bytes"`
	Title       string            `json:"title" doc:"Its label in a form." example:"Bytes of the body to read"`
	Help        string            `json:"help,omitempty" doc:"What a form says beside it; absent where the title is enough."`
	Description string            `json:"description"`
	Input       string            `json:"input" enum:"text,area,number,switch,decision,choice,lines,list,value,pairs,group,rows,config" doc:"How it is entered: area is text of several lines, switch true or false, decision one of these or nothing, choice one of the options, lines a list of texts, list one of numbers and texts, value a text, a number or a boolean, pairs an object of texts whose names are free, group an object with members, rows a list of such objects, config the config of a check whose type is the member type beside it."`
	Group       string            `json:"group" enum:"address,time,request,expect,more" doc:"The part of a form that it stands in: what is probed, how long it may take, what is sent along, what the answer must be like, and what few need."`
	Options     []checkOptionView `json:"options,omitempty" doc:"The values that it may have, in the order in which they are offered; absent where it may have any."`
	Default     string            `json:"default,omitempty" doc:"The value that a config without it has; absent where there is none or it depends on others."`
	Sample      string            `json:"sample,omitempty" doc:"What an empty field shows."`
	Begin       any               `json:"begin,omitempty" doc:"What it is in a config that a form begins with; absent for nothing."`
	Minimum     *float64          `json:"minimum,omitempty" doc:"The least that a number may be."`
	Maximum     *float64          `json:"maximum,omitempty" doc:"The most that a number may be."`
	Secret      string            `json:"secret,omitempty" enum:"value,names,query,address" doc:"What answers show as ***: all of it, the values of pairs whose names say credential, such parameters of an address, or of an address all but its scheme, host and port. Absent where nothing is."`
	SecretWhen  string            `json:"secret_when,omitempty" doc:"The member beside it that makes all of it a secret when it is true."`
	Required    bool              `json:"required" doc:"Whether a config without it is refused."`
	Monospace   bool              `json:"monospace" doc:"Whether it is for machines, such as an address or JSON."`
	Width       string            `json:"width,omitempty" enum:"short,medium,half" doc:"How wide its field is; absent for a whole line."`
	Add         string            `json:"add,omitempty" doc:"The text of the button that adds an entry to pairs or rows." example:"Add header"`
	Members     []checkMemberView `json:"members,omitempty" doc:"The members of a group, or of each of the rows."`
}

// checkOptionView is a value that a member may have.
type checkOptionView struct {
	Value string `json:"value"`
	Title string `json:"title" doc:"What people call it."`
}

func showCheckType(info probe.TypeInfo) checkTypeInfoView {
	return checkTypeInfoView{
		Type: info.Type, About: info.About, Target: info.Target, Schemes: append([]string{}, info.Schemes...),
		Conditions: append([]string{}, info.Conditions...), Members: showCheckMembers(info.Members),
	}
}

func showCheckMembers(members []probe.MemberInfo) []checkMemberView {
	views := make([]checkMemberView, len(members))
	for i, m := range members {
		views[i] = checkMemberView{
			Name: m.Name, Title: m.Title, Help: m.Help, Description: m.Description, Input: m.Input, Group: m.Group, Default: m.Default,
			Sample: m.Sample, Minimum: m.Minimum, Maximum: m.Maximum, Secret: m.Secret, SecretWhen: m.SecretWhen, Required: m.Required,
			Monospace: m.Mono, Width: m.Width, Add: m.Add, Members: showCheckMembers(m.Members),
		}
		if m.Begin != "" {
			views[i].Begin = json.RawMessage(m.Begin)
		}
		for _, option := range m.Options {
			views[i].Options = append(views[i].Options, checkOptionView(option))
		}
	}
	return views
}

type checkTypes struct{ types resource.CheckTypes }

// Register registers the operation that lists the types.
func (c checkTypes) Register(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: "/v1/check-types", ID: "list-check-types", Tag: resource.TagChecks, Open: true,
		Summary: "List the types of checks",
		Description: "Each with the members of its config and what its results can match: what a form needs to ask for them. " +
			"No credential is needed.",
	}, func(_ context.Context, in *struct{ rest.PageQuery }) (*rest.Listing[checkTypeInfoView], error) {
		all := c.types.Describe()
		return rest.NewListing(rest.Cut(all, in.Page()), len(all), showCheckType), nil
	})
}
