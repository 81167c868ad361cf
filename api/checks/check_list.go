// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/overview"
)

// CheckSelection are the filters of a list of checks.
type CheckSelection struct {
	Query   string              `query:"query" maxLength:"200" doc:"Checks with this text in their name, target, a label (as key=value) or the error of a region that fails, in any case, or in a region or location whose key or city has a word that begins with it (from 3 characters on)."`
	Type    vigil.CheckType     `query:"type" doc:"Checks of one type."`
	Health  vigil.Health        `query:"health" enum:"healthy,unhealthy,unknown" doc:"Checks with one health_status."`
	State   listing.CheckState  `query:"state" enum:"failing,warning,passing,unknown,disabled" doc:"Checks in one state. failing: the newest result of some region failed. warning: every newest result passed, and an incident is open. passing: every newest result passed. unknown: no region has a result. disabled: the check does not run."`
	Enabled rest.Optional[bool] `query:"enabled" doc:"Only enabled checks, or only disabled ones."`
	Region  string              `query:"region" doc:"Checks that run in one region, by its key or an alias, or in a location, by its key."`
	ID      []string            `query:"id,explode" maxItems:"100" doc:"Only these checks. Give it several times for several checks."`
	Label   []string            `query:"label,explode" doc:"Checks with a label: key=value, or key for any value; !key for checks without it. Given several times, all must match."`
	resource.ManagedSelection
}

// filter returns the filter of a list of checks.
func (c *Checks) filter(ctx context.Context, in *CheckSelection) (listing.CheckFilter, error) {
	filter := listing.CheckFilter{
		Managed: in.Managed(),
		Query:   in.Query,
		Type:    in.Type,
		Health:  in.Health,
		State:   in.State,
		Enabled: in.Enabled.Pointer(),
	}
	if types := c.Types.Types(); in.Type != "" && !slices.Contains(types, in.Type) {
		return filter, vigil.Invalid("type", "must be one of %q", types)
	}
	if in.ID != nil {
		filter.IDs = []uuid.UUID{}
		for _, text := range in.ID {
			id, err := resource.FilterID("id", text)
			if err != nil {
				return filter, err
			}
			filter.IDs = append(filter.IDs, id)
		}
	}
	if in.Region != "" {
		var err error
		if filter.Region, err = c.Places(ctx).filterKey("region", in.Region); err != nil {
			return filter, err
		}
	}
	var err error
	if filter.Places, err = c.Places(ctx).begin(in.Query); err != nil {
		return filter, err
	}
	var labels []string
	for _, text := range in.Label {
		if key, without := strings.CutPrefix(text, "!"); without {
			if err := checkLabelKey("label", key); err != nil {
				return filter, err
			}
			filter.Unlabeled = append(filter.Unlabeled, key)
			continue
		}
		labels = append(labels, text)
	}
	if len(in.Label) > vigil.MaxLabels {
		return filter, vigil.Invalid("label", "must be given at most %d times", vigil.MaxLabels)
	}
	filter.Labels, err = vigil.ParseLabelSelectors("label", labels)
	return filter, err
}

// checkLabelKey refuses what is no key of a label.
func checkLabelKey(member, key string) error {
	selectors, err := vigil.ParseLabelSelectors(member, []string{key})
	if err == nil && selectors[0].Value == nil {
		return nil
	}
	return vigil.Invalid(member, "must have a key of a label: 1 to 63 characters of a-z, 0-9, '.', '_', '/' and '-'")
}

// binding is what a cursor of the list is bound to.
func (in *CheckSelection) binding() []string {
	binding := []string{in.Query, string(in.Type), string(in.Health), Optional(in.Enabled), in.Region}
	if in.State != "" || in.ID != nil { // cursors of lists without them stay valid
		binding = append(binding, "state="+string(in.State), "id="+strings.Join(in.ID, ","))
	}
	return append(append(binding, in.ManagedBinding()...), in.Label...)
}

// Optional writes a parameter for the binding of a cursor.
func Optional(value rest.Optional[bool]) string {
	if set := value.Pointer(); set != nil {
		return strconv.FormatBool(*set)
	}
	return ""
}

type listChecksInput struct {
	rest.ListQuery
	CheckSelection
	Sort    listing.CheckSort `query:"sort" enum:"name,-name,created_at,-created_at,updated_at,-updated_at,state,-state,type,-type,interval_seconds,-interval_seconds,uptime_24h,-uptime_24h,p95_ms,-p95_ms,regions,-regions,last_checked,-last_checked" default:"-created_at" doc:"What to sort by; a minus reverses the order. Names are compared without their case. state puts what needs attention first: checks that are failing or have a warning, by the severity of their open incident and the newest incident first, then those without a result, the other enabled ones and the disabled ones, each by name. type and interval_seconds sort by name among equal ones. uptime_24h, p95_ms, regions (the share of them that passes) and last_checked sort by what the summary says, up to 10000 checks; a check without it comes last."`
	Summary bool              `query:"summary" doc:"Add to each check how it did lately: its newest 60 slots, uptime and response time."`
	Counts  bool              `query:"counts" doc:"Add meta.counts: how many checks of each state the other filters select."`
	GroupBy string            `query:"group_by" maxLength:"63" doc:"The key of a label: add meta.groups, which count the checks that the other filters select by its values and by their state. The list stays as it is."`
	Keys    bool              `query:"label_keys" doc:"Add meta.label_keys: the keys of labels that the checks of the organization have."`
}

func (c *Checks) registerList(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: "/v1/checks", ID: "list-checks", Tag: resource.TagChecks,
		Summary:     "List the checks, newest first",
		Description: "Filters combine: a check must match all of them.",
	}, c.list)
}

func (c *Checks) list(ctx context.Context, in *listChecksInput) (*rest.Listing[checkView], error) {
	filter, err := c.filter(ctx, &in.CheckSelection)
	if err != nil {
		return nil, err
	}
	page, cursor, err := in.Open(rest.MaxPage, append([]string{"checks", string(in.Sort)}, in.binding()...)...)
	if err != nil {
		return nil, err
	}
	if in.GroupBy != "" {
		if err := checkLabelKey("group_by", in.GroupBy); err != nil {
			return nil, err
		}
	}
	// What is said of all checks is read beside the page.
	var whole rest.Meta
	work, beside := errgroup.WithContext(ctx)
	work.Go(func() error { return c.addWhole(beside, in, filter, &whole) })
	out, err := c.page(ctx, in, listing.CheckList{CheckFilter: filter, Sort: in.Sort, Page: page}, cursor)
	if waited := work.Wait(); err == nil {
		err = waited
	}
	if err != nil {
		return nil, err
	}
	meta := &out.Body.Meta
	meta.Counts, meta.Groups, meta.GroupsCapped, meta.LabelKeys = whole.Counts, whole.Groups, whole.GroupsCapped, whole.LabelKeys
	return out, nil
}

// page reads the checks of a page, with their summaries if they are asked for.
func (c *Checks) page(
	ctx context.Context, in *listChecksInput, list listing.CheckList, cursor *rest.Cursor,
) (*rest.Listing[checkView], error) {
	rows, extent, err := c.store.Checks(ctx, rest.CallerOf(ctx).Org.ID, list)
	if err != nil {
		return nil, err
	}
	out := rest.NewPage(rows, extent, cursor, c.show)
	views := make([]*checkView, len(out.Body.Data))
	for i := range out.Body.Data {
		views[i] = &out.Body.Data[i]
	}
	var sums map[uuid.UUID]overview.CheckSummary // read beside what completes the checks
	work, beside := errgroup.WithContext(ctx)
	if in.Summary {
		ids := make([]uuid.UUID, len(views))
		for i, view := range views {
			ids[i] = view.ID
		}
		work.Go(func() (err error) {
			sums, err = c.store.Summaries(beside, rest.CallerOf(ctx).Org.ID, ids)
			return err
		})
	}
	err = c.complete(ctx, views...)
	if waited := work.Wait(); err == nil {
		err = waited
	}
	if err != nil {
		return nil, err
	}
	if in.Summary {
		out.Body.Data = addSummaries(out.Body.Data, sums)
	}
	return out, nil
}

// addWhole adds what a list says of all of its checks, where it is asked for: their states, their groups and their labels.
func (c *Checks) addWhole(ctx context.Context, in *listChecksInput, filter listing.CheckFilter, meta *rest.Meta) error {
	org := rest.CallerOf(ctx).Org.ID
	if in.Counts {
		counts, err := c.store.CheckCounts(ctx, org, filter)
		if err != nil {
			return err
		}
		meta.Counts = new(rest.Counts(counts))
	}
	if in.GroupBy != "" {
		groups, more, err := c.store.CheckGroups(ctx, org, filter, in.GroupBy)
		if err != nil {
			return err
		}
		meta.GroupsCapped = more
		for _, group := range groups {
			meta.Groups = append(meta.Groups, rest.ShowCheckGroup(group))
		}
	}
	if in.Keys {
		keys, err := c.store.LabelKeys(ctx, org)
		if err != nil {
			return err
		}
		for _, key := range keys {
			meta.LabelKeys = append(meta.LabelKeys, rest.LabelKey(key))
		}
	}
	return nil
}

// LabelsView shows labels; an object without members for none.
func LabelsView(labels vigil.Labels) map[string]string {
	if labels == nil {
		return map[string]string{}
	}
	return labels
}
