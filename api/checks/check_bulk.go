// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// bulkStore changes several checks in one transaction.
type bulkStore interface {
	UpdateChecks(
		ctx context.Context, orgID uuid.UUID, filter listing.CheckFilter, plan account.Plan, dryRun bool, change func(*vigil.Check) error,
	) ([]vigil.CheckEdit, error)
	DeleteChecks(ctx context.Context, orgID uuid.UUID, filter listing.CheckFilter, dryRun bool) ([]vigil.CheckEdit, error)
}

// bulkAction is what happens to the selected checks.
type bulkAction string

const (
	bulkEnable  bulkAction = "enable"
	bulkDisable bulkAction = "disable"
	bulkDelete  bulkAction = "delete"
	bulkSet     bulkAction = "set"
)

// checkBulkBody changes several checks.
type checkBulkBody struct {
	IDs      []string      `json:"ids,omitempty" maxItems:"1000" doc:"The checks to change. Give either ids or selector."`
	Selector *BulkSelector `json:"selector,omitempty" doc:"Selects the checks to change, as the parameters of the list do. It must not be empty, and select 1000 checks at most."`
	Action   bulkAction    `json:"action" enum:"enable,disable,delete,set" doc:"What to do with each check; set changes its members."`
	Members  *BulkMembers  `json:"members,omitempty" doc:"What set changes."`
	DryRun   bool          `json:"dry_run,omitempty" doc:"Find every error, and change nothing."`
}

// BulkSelector selects checks that match all of its members.
type BulkSelector struct {
	Query   string             `json:"query,omitempty" maxLength:"200" doc:"What the parameter query of the list finds."`
	Type    vigil.CheckType    `json:"type,omitempty"`
	Health  vigil.Health       `json:"health,omitempty" enum:"healthy,unhealthy,unknown"`
	State   listing.CheckState `json:"state,omitempty" enum:"failing,warning,passing,unknown,disabled"`
	Enabled *bool              `json:"enabled,omitempty"`
	Region  string             `json:"region,omitempty" doc:"A region that the check runs in, by its key or an alias, or a location by its key."`
	Labels  []string           `json:"labels,omitempty" maxItems:"20" doc:"Labels that the check has: key=value, or key for any value; !key for checks without it."`
}

// BulkMembers are the members that set changes. Those that are left out stay.
type BulkMembers struct {
	IntervalSeconds     rest.Field[rest.Integer] `json:"interval_seconds,omitzero" minimum:"1" maximum:"2592000"`
	Regions             rest.Field[[]string]     `json:"regions,omitzero" doc:"Keys or aliases of the regions that the checks run in, and keys of locations."`
	Enabled             rest.Field[bool]         `json:"enabled,omitzero"`
	SimultaneousRegions rest.Field[bool]         `json:"simultaneous_regions,omitzero"`
	Evidence            rest.Field[bool]         `json:"evidence,omitzero" doc:"Whether failed results keep what the probe saw."`
	Retry               retryMember              `json:"retry,omitzero" doc:"Replaces the whole member. What it leaves out has its default."`
	Labels              rest.Field[vigil.Labels] `json:"labels,omitzero" doc:"Replaces all labels."`
	AddLabels           rest.Field[vigil.Labels] `json:"add_labels,omitzero" doc:"Labels to add, or to give another value. The others stay."`
	RemoveLabels        rest.Field[[]string]     `json:"remove_labels,omitzero" maxItems:"20" doc:"Keys of labels to remove."`
}

// bulkResultView says what happened.
type bulkResultView struct {
	Action  bulkAction      `json:"action" enum:"enable,disable,delete,set"`
	DryRun  bool            `json:"dry_run"`
	Matched int             `json:"matched" doc:"How many checks were selected."`
	Changed int             `json:"changed" doc:"How many of them changed, or would have; the others were like that before."`
	Checks  []bulkCheckView `json:"checks" doc:"The selected checks."`
}

type bulkCheckView struct {
	ID      uuid.UUID `json:"id" format:"uuid"`
	Name    string    `json:"name"`
	Changed bool      `json:"changed"`

	Warnings []string `json:"warnings,omitempty" doc:"What is accepted and may not be what is meant, as in the answer to a write of the check alone. Each begins with the name of a member."`
}

func (c *Checks) registerBulk(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: "/v1/checks/bulk", ID: "change-checks", Tag: resource.TagChecks, Scope: account.ScopeWrite,
		Audit: "check.bulk", Resource: ResourceCheck,
		Summary: "Change several checks",
		Description: "Enables, disables, deletes or changes up to 1000 checks in one transaction: all of them, or none after an error, " +
			"whose details have the `check_id`. The audit log has an entry for each check that changed.",
		Errors: []int{http.StatusForbidden, http.StatusServiceUnavailable},
	}, c.bulk)
}

func (c *Checks) bulk(ctx context.Context, in *struct{ Body checkBulkBody }) (*rest.Answer[bulkResultView], error) {
	filter, err := c.bulkFilter(ctx, &in.Body)
	if err != nil {
		return nil, err
	}
	edits, err := c.runBulk(ctx, &in.Body, filter)
	if err != nil {
		return nil, err
	}
	view := bulkResultView{Action: in.Body.Action, DryRun: in.Body.DryRun, Matched: len(edits), Checks: make([]bulkCheckView, len(edits))}
	live := c.LiveRegions(ctx)
	for i, edit := range edits {
		view.Checks[i] = bulkCheckView{ID: edit.Before.ID, Name: edit.Before.Name, Changed: edit.Changed}
		if edit.Changed {
			view.Changed++
		}
		view.Checks[i].Warnings = live.Warnings(&edit.Before, &edit.After)
	}
	if !in.Body.DryRun {
		c.Notifier.Changed(ctx, edits)
	}
	return rest.NewAnswer(view), nil
}

func (c *Checks) runBulk(ctx context.Context, body *checkBulkBody, filter listing.CheckFilter) ([]vigil.CheckEdit, error) {
	who := rest.CallerOf(ctx)
	if body.Members != nil && body.Action != bulkSet {
		return nil, vigil.Invalid("members", "must come with the action set only")
	}
	var members CheckMembers
	labels := func(l vigil.Labels) (vigil.Labels, error) { return l, nil }
	switch body.Action {
	case bulkDelete:
		return c.store.DeleteChecks(ctx, who.Org.ID, filter, body.DryRun)
	case bulkEnable, bulkDisable:
		members.Enabled = rest.Field[bool]{Value: body.Action == bulkEnable, Given: true}
	case bulkSet:
		if body.Members == nil || !body.Members.given() {
			return nil, vigil.Invalid("members", "must say what to set")
		}
		members = body.Members.checkMembers()
		labels = body.Members.changeLabels
	}
	if err := members.Clean(c.Places(ctx)); err != nil {
		return nil, err
	}
	plan, overloaded := c.Plans.Of(who), c.Loads.Overloaded(ctx)
	return c.store.UpdateChecks(ctx, who.Org.ID, filter, plan, body.DryRun, func(check *vigil.Check) (err error) {
		before := *check
		if err := c.Change(check, &members, plan); err != nil {
			return err
		}
		if check.Labels, err = labels(check.Labels); err != nil {
			return err
		}
		return resource.Refuse(overloaded, resource.AddedLoad(&before, check)...)
	})
}

// bulkFilter returns the filter of a body, which has either ids or a selector.
func (c *Checks) bulkFilter(ctx context.Context, body *checkBulkBody) (listing.CheckFilter, error) {
	switch {
	case body.IDs != nil && body.Selector != nil:
		return listing.CheckFilter{}, vigil.Invalid("selector", "must not be given together with ids")
	case body.IDs != nil:
		filter := listing.CheckFilter{IDs: make([]uuid.UUID, 0, len(body.IDs))}
		for _, text := range body.IDs {
			id, err := rest.ParseID(text, ResourceCheck)
			if err != nil {
				return filter, err
			}
			if !slices.Contains(filter.IDs, id) {
				filter.IDs = append(filter.IDs, id)
			}
		}
		if len(filter.IDs) == 0 {
			return filter, vigil.Invalid("ids", "must not be empty")
		}
		return filter, nil
	case body.Selector == nil:
		return listing.CheckFilter{}, vigil.Invalid("selector", "or ids must be given")
	}
	s := body.Selector
	selection := CheckSelection{Query: s.Query, Type: s.Type, Health: s.Health, State: s.State, Region: s.Region, Label: s.Labels}
	filter, err := c.filter(ctx, &selection)
	if err != nil {
		return filter, inSelector(err)
	}
	filter.Enabled = s.Enabled
	if filter.Empty() {
		return filter, vigil.Invalid("selector", "must not be empty: it would select every check")
	}
	return filter, nil
}

// inSelector returns an error about a parameter of a list as one about the selector.
func inSelector(err error) error {
	const label = "label"
	for _, member := range []string{"type", "region", label} {
		if err, ok := err.(*vigil.Error); ok && err.Details["member"] == member { //nolint:errorlint // made by filter, not wrapped
			path := "selector." + member
			if member == label {
				path = "selector.labels"
			}
			return &vigil.Error{Code: err.Code, Message: path + err.Message[len(member):], Details: withMember(err.Details, path)}
		}
	}
	return err
}

func withMember(details map[string]any, path string) map[string]any {
	details = maps.Clone(details)
	details["member"] = path
	return details
}

func (m *BulkMembers) given() bool {
	return m.IntervalSeconds.Given || m.Regions.Given || m.Enabled.Given || m.SimultaneousRegions.Given ||
		m.Retry.Given || m.Evidence.Given || m.Labels.Given || m.AddLabels.Given || m.RemoveLabels.Given
}

// checkMembers returns the members as those of a single edit.
func (m *BulkMembers) checkMembers() CheckMembers {
	return CheckMembers{
		IntervalSeconds: m.IntervalSeconds, Regions: m.Regions, Enabled: m.Enabled, SimultaneousRegions: m.SimultaneousRegions,
		Retry: m.Retry, Evidence: m.Evidence, Labels: m.Labels,
	}
}

// changeLabels adds and removes labels.
func (m *BulkMembers) changeLabels(labels vigil.Labels) (vigil.Labels, error) {
	if !m.AddLabels.Given && !m.RemoveLabels.Given {
		return labels, nil
	}
	changed := maps.Clone(labels)
	if changed == nil {
		changed = make(vigil.Labels)
	}
	for _, key := range m.RemoveLabels.Value {
		delete(changed, key)
	}
	maps.Copy(changed, m.AddLabels.Value)
	return changed, changed.Validate()
}
