// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"context"
	"net/http"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/notify"
)

// channelTypeView is a channel type with what a form needs to ask for its config.
type channelTypeView struct {
	Type    vigil.ChannelType   `json:"type" example:"chat"`
	Title   string              `json:"title" doc:"What people call it." example:"Chat"`
	About   string              `json:"about" doc:"What it does, as the end of a sentence." example:"posts to a chat product"`
	Formats []channelFormatView `json:"formats" doc:"The products whose form its messages may have, the default first; empty where the type has one form."`
	Members []channelMemberView `json:"members" doc:"The members of its config, in order."`
}

// channelFormatView is the form of a product.
type channelFormatView struct {
	Format   string   `json:"format" doc:"Its name, which is config.format." example:"google_chat"`
	Title    string   `json:"title" example:"Google Chat"`
	Hosts    []string `json:"hosts" doc:"The hosts of an address that name the format where config.format is absent. One that begins with a dot stands for all names below it."`
	Requires []string `json:"requires" doc:"The members of the config that must be there."`
	Takes    []string `json:"takes" doc:"The members of the config that may be there, besides format, title_template and body_template; any other is refused."`
}

// channelMemberView is a member of a config.
type channelMemberView struct {
	Name        string   `json:"name" example:"webhook_url"`
	Title       string   `json:"title" doc:"Its label in a form; empty where a form asks for another member instead." example:"Incoming webhook"`
	Description string   `json:"description"`
	Type        string   `json:"type" enum:"string,boolean,integer,number,array,object" doc:"Arrays and objects have texts."`
	Format      string   `json:"format,omitempty" enum:"uri,email" doc:"What a text must be; absent for any other."`
	Options     []string `json:"options,omitempty" doc:"The values that it may have; absent where it may have any."`
	Default     string   `json:"default,omitempty" doc:"The value that a config without it has; absent where there is none."`
	Example     string   `json:"example,omitempty"`
	Secret      bool     `json:"secret" doc:"Whether answers show it as ***."`
	Required    bool     `json:"required" doc:"Whether a config without it is refused, in every format."`
}

func showChannelType(info notify.TypeInfo) channelTypeView {
	view := channelTypeView{
		Type: info.Type, Title: info.Title, About: info.About,
		Formats: make([]channelFormatView, len(info.Formats)), Members: make([]channelMemberView, len(info.Members)),
	}
	for i, f := range info.Formats {
		view.Formats[i] = channelFormatView{
			Format: f.Name, Title: f.Title, Hosts: append([]string{}, f.Hosts...), Requires: append([]string{}, f.Requires...),
			Takes: append([]string{}, f.Takes...),
		}
	}
	for i, m := range info.Members {
		view.Members[i] = channelMemberView(m)
	}
	return view
}

type channelTypes struct{ types resource.ChannelTypes }

func (c channelTypes) Register(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: "/v1/channel-types", ID: "list-channel-types", Tag: resource.TagChannels, Open: true,
		Summary: "List the types of channels",
		Description: "Each with the products that it sends to and the members of its config: what a form needs to ask for them. " +
			"No credential is needed.",
	}, func(_ context.Context, in *struct{ rest.PageQuery }) (*rest.Listing[channelTypeView], error) {
		all := c.types.Describe()
		return rest.NewListing(rest.Cut(all, in.Page()), len(all), showChannelType), nil
	})
}
