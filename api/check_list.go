package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"

	"vigil"
	"vigil/api/rest"
)

// CheckSelection are the filters of a list of checks.
type CheckSelection struct {
	Query   string              `query:"query" maxLength:"200" doc:"Checks whose name or target contains this text, in any case."`
	Type    vigil.CheckType     `query:"type" doc:"Checks of one type."`
	Health  vigil.Health        `query:"health" enum:"healthy,unhealthy,unknown" doc:"Checks with one health_status."`
	Enabled rest.Optional[bool] `query:"enabled" doc:"Only enabled checks, or only disabled ones."`
	Region  string              `query:"region" doc:"Checks that run in one region, by its key or an alias."`
	Label   []string            `query:"label,explode" doc:"Checks with a label: key=value, or key for any value. Given several times, all must match."`
}

// filter returns the filter of a list of checks.
func (c *checks) filter(in *CheckSelection) (vigil.CheckFilter, error) {
	filter := vigil.CheckFilter{Query: in.Query, Type: in.Type, Health: in.Health, Enabled: in.Enabled.Pointer()}
	if types := c.types.Types(); in.Type != "" && !slices.Contains(types, in.Type) {
		return filter, vigil.Invalid("type", "must be one of %q", types)
	}
	if in.Region != "" {
		region, ok := vigil.RegionByKey(in.Region)
		if !ok {
			return filter, errUnknownRegion("region")
		}
		filter.Region = region.Key
	}
	var err error
	filter.Labels, err = vigil.ParseLabelSelectors("label", in.Label)
	return filter, err
}

// binding is what a cursor of the list is bound to.
func (in *CheckSelection) binding() []string {
	return append([]string{in.Query, string(in.Type), string(in.Health), optional(in.Enabled), in.Region}, in.Label...)
}

// optional writes a parameter for the binding of a cursor.
func optional(value rest.Optional[bool]) string {
	if set := value.Pointer(); set != nil {
		return strconv.FormatBool(*set)
	}
	return ""
}

type listChecksInput struct {
	rest.ListQuery
	CheckSelection
	Sort    vigil.CheckSort `query:"sort" enum:"name,-name,created_at,-created_at,updated_at,-updated_at" default:"-created_at" doc:"What to sort by; a minus reverses the order. Names are compared without their case."`
	Summary bool            `query:"summary" doc:"Add to each check how it did lately: its newest 60 slots, uptime and response time."`
	Counts  bool            `query:"counts" doc:"Add meta.counts: how many checks of each state the other filters select."`
}

func (c *checks) registerList(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: "/v1/checks", ID: "list-checks", Tag: tagChecks,
		Summary:     "List the checks, newest first",
		Description: "Filters combine: a check must match all of them.",
	}, c.list)
}

func (c *checks) list(ctx context.Context, in *listChecksInput) (*rest.Listing[checkView], error) {
	filter, err := c.filter(&in.CheckSelection)
	if err != nil {
		return nil, err
	}
	page, cursor, err := in.Open(rest.MaxPage, append([]string{"checks", string(in.Sort)}, in.binding()...)...)
	if err != nil {
		return nil, err
	}
	org := rest.CallerOf(ctx).Org.ID
	rows, extent, err := c.store.Checks(ctx, org, vigil.CheckList{CheckFilter: filter, Sort: in.Sort, Page: page})
	if err != nil {
		return nil, err
	}
	out := rest.NewPage(rows, extent, cursor, c.show)
	if in.Summary {
		if err := c.addSummaries(ctx, out.Body.Data); err != nil {
			return nil, err
		}
	}
	if in.Counts {
		counts, err := c.store.CheckCounts(ctx, org, filter)
		if err != nil {
			return nil, err
		}
		out.Body.Meta.Counts = new(rest.Counts(counts))
	}
	return out, nil
}

// labelsView shows labels; an object without members for none.
func labelsView(labels vigil.Labels) map[string]string {
	if labels == nil {
		return map[string]string{}
	}
	return labels
}
