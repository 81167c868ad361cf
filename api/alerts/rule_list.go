// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"context"
	"net/http"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/checks"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// RegisterAll registers the reads of rules without their check in the path.
func (a *rules) registerAll(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: "/v1/alert-rules", ID: "list-all-alert-rules", Tag: resource.TagRules,
		Summary:     "List the alert rules of all checks, newest first",
		Description: "Filters combine: a rule must match all of them.",
	}, a.listAll)
	rest.Register(r, rest.Operation{
		Method:     http.MethodGet,
		Path:       "/v1/alert-rules/{id}",
		ID:         "get-alert-rule-by-id",
		Tag:        resource.TagRules,
		Resource:   ResourceRule,
		Revisioned: true,
		Summary:    "Get an alert rule by its id alone",
	}, a.getByID)
}

type allRulesInput struct {
	rest.ListQuery
	CheckID   string              `query:"check_id" format:"uuid" doc:"Rules of one check."`
	ChannelID string              `query:"channel_id" format:"uuid" doc:"Rules that notify one channel."`
	Query     string              `query:"query" maxLength:"200" doc:"Rules whose name contains this text, in any case."`
	Enabled   rest.Optional[bool] `query:"enabled" doc:"Only enabled rules, or only disabled ones."`
	Label     []string            `query:"label,explode" doc:"Rules with a label: key=value, or key for any value. Given several times, all must match."`
	resource.ManagedSelection
}

func (in *allRulesInput) filter() (filter listing.RuleFilter, err error) {
	filter = listing.RuleFilter{Query: in.Query, Enabled: in.Enabled.Pointer(), Managed: in.Managed()}
	if filter.CheckID, err = resource.FilterID("check_id", in.CheckID); err != nil {
		return filter, err
	}
	if filter.ChannelID, err = resource.FilterID("channel_id", in.ChannelID); err != nil {
		return filter, err
	}
	filter.Labels, err = vigil.ParseLabelSelectors("label", in.Label)
	return filter, err
}

func (a *rules) listAll(ctx context.Context, in *allRulesInput) (*rest.Listing[alertRuleView], error) {
	filter, err := in.filter()
	if err != nil {
		return nil, err
	}
	bound := append(
		[]string{"all-rules", in.CheckID, in.ChannelID, in.Query, checks.Optional(in.Enabled)},
		append(in.ManagedBinding(), in.Label...)...)
	page, cursor, err := in.Open(rest.MaxPage, bound...)
	if err != nil {
		return nil, err
	}
	filter.Page = page
	rows, extent, err := a.store.Rules(ctx, rest.CallerOf(ctx).Org.ID, filter)
	if err != nil {
		return nil, err
	}
	return rest.NewPage(rows, extent, cursor, showRule), nil
}

func (a *rules) getByID(ctx context.Context, in *rest.IDPath) (*rest.Answer[alertRuleView], error) {
	id, err := in.Parse(ResourceRule)
	if err != nil {
		return nil, err
	}
	rule, err := a.store.RuleByID(ctx, rest.CallerOf(ctx).Org.ID, id)
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(showRule(rule)), nil
}
