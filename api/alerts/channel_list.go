// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"context"
	"slices"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/checks"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/listing"
)

type listChannelsInput struct {
	rest.ListQuery
	Query   string              `query:"query" maxLength:"200" doc:"Channels whose name contains this text, in any case."`
	Type    vigil.ChannelType   `query:"type" doc:"Channels of one type."`
	Enabled rest.Optional[bool] `query:"enabled" doc:"Only enabled channels, or only disabled ones."`
	Label   []string            `query:"label,explode" doc:"Channels with a label: key=value, or key for any value. Given several times, all must match."`
	resource.ManagedSelection
}

func (c *Channels) list(ctx context.Context, in *listChannelsInput) (*rest.Listing[notificationChannelView], error) {
	filter := listing.ChannelFilter{Query: in.Query, Type: in.Type, Enabled: in.Enabled.Pointer(), Managed: in.Managed()}
	if types := c.Types.Types(); in.Type != "" && !slices.Contains(types, in.Type) {
		return nil, vigil.Invalid("type", "must be one of %q", types)
	}
	var err error
	if filter.Labels, err = vigil.ParseLabelSelectors("label", in.Label); err != nil {
		return nil, err
	}
	bound := append([]string{"channels", in.Query, string(in.Type), checks.Optional(in.Enabled)}, append(in.ManagedBinding(), in.Label...)...)
	page, cursor, err := in.Open(rest.MaxPage, bound...)
	if err != nil {
		return nil, err
	}
	filter.Page = page
	rows, extent, err := c.store.Channels(ctx, rest.CallerOf(ctx).Org.ID, filter)
	if err != nil {
		return nil, err
	}
	show, err := c.showing(ctx, rows...)
	if err != nil {
		return nil, err
	}
	return rest.NewPage(rows, extent, cursor, show), nil
}
