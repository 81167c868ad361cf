// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/checks"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/listing"
)

const (
	// ResourceRule names a rule in errors and in the audit log.
	ResourceRule = "rule"
)

// ruleStore keeps alert rules.
type ruleStore interface {
	CreateRule(ctx context.Context, rule vigil.Rule) (vigil.Rule, error)
	Rules(ctx context.Context, orgID uuid.UUID, filter listing.RuleFilter) ([]vigil.Rule, listing.Extent, error)
	CheckRules(ctx context.Context, orgID, checkID uuid.UUID, page listing.Page) ([]vigil.Rule, listing.Extent, error)
	RuleByID(ctx context.Context, orgID, id uuid.UUID) (vigil.Rule, error)
	Rule(ctx context.Context, orgID, checkID, id uuid.UUID) (vigil.Rule, error)
	UpdateRule(ctx context.Context, orgID, checkID, id uuid.UUID, change func(*vigil.Rule) error) (vigil.Rule, error)
	DeleteRule(ctx context.Context, orgID, checkID, id uuid.UUID, match vigil.Precondition) error
}

type rules struct {
	store    ruleStore
	notifier *resource.Notifier
}

// alertRuleView is an AlertRule (spec section 2).
type alertRuleView struct {
	ID      uuid.UUID `json:"id" format:"uuid"`
	CheckID uuid.UUID `json:"check_id" format:"uuid"`
	Name    string    `json:"name" minLength:"1" maxLength:"200" example:"Three failures in a row"`
	// The pair is there when it says all of the condition but its recovery threshold and its severity.
	ConditionType          *vigil.ConditionType    `json:"condition_type" doc:"The condition as one of consecutive_failures, response_time, status_code, ssl_expiry; null when none says the same." example:"consecutive_failures"`
	Threshold              *float64                `json:"threshold" doc:"The number of condition_type; null without one." example:"3"`
	Condition              vigil.Condition         `json:"condition"`
	NotificationChannelIDs []uuid.UUID             `json:"notification_channel_ids" minItems:"1" maxItems:"100" doc:"The channels that are notified."`
	NotifyOn               vigil.NotifyOn          `json:"notify_on" enum:"unhealthy,healthy,both" default:"unhealthy" doc:"What the channels are notified of: unhealthy when an incident opens, healthy when it ends, however it does, both of both."`
	NotifyIfOpen           bool                    `json:"notify_if_open" default:"false" doc:"Whether the rule, when it begins to fire while an incident of the check is open, sends the opening of that incident to those of its channels that have had no message of it. When it is false such a rule sends no message."`
	Unobserved             vigil.OnUnobserved      `json:"unobserved" enum:"ignore,notify" default:"ignore" doc:"Whether the channels are notified when the check is not probed, which happens when a region has no worker: in as many of its regions as region_policy says, the newest result is older than three intervals and the deadline of a probe. notify: they get check.unobserved and, when that ends in any way, check.observed; notify_on does not matter. It opens no incident."`
	RegionPolicy           vigil.RegionPolicy      `json:"region_policy" enum:"any,majority,all" default:"any" doc:"In how many of the regions that have a vote the rule must fire: one, more than half, or all."`
	Enabled                bool                    `json:"enabled" default:"true"`
	Labels                 map[string]string       `json:"labels" doc:"Names and values that you give, to group and to filter."`
	ManagedBy              *resource.ManagedByView `json:"managed_by" doc:"The program that manages the rule, such as a project of files; null when none does."`
	Revision               int64                   `json:"revision,omitempty" doc:"Grows by one with every change of the rule; the ETag for If-Match."`
	CreatedAt              time.Time               `json:"created_at"`
	UpdatedAt              time.Time               `json:"updated_at"`
	Warnings               []string                `json:"warnings,omitempty" doc:"In the answer to a write only: what is accepted and may not be what is meant. Each begins with the name of a member." example:"notify_if_open: is false, so this rule sends no message when it begins to fire while an incident is open"`
}

// CurrentRevision is the rule's, for its ETag.
func (v alertRuleView) CurrentRevision() int64 { return v.Revision }

func showRule(r vigil.Rule) alertRuleView {
	view := alertRuleView{
		ID:                     r.ID,
		CheckID:                r.CheckID,
		Name:                   r.Name,
		Condition:              r.Condition,
		NotificationChannelIDs: r.Channels,
		NotifyOn:               r.NotifyOn,
		NotifyIfOpen:           r.NotifyIfOpen,
		Unobserved:             cmp.Or(r.Unobserved, vigil.UnobservedIgnore),
		RegionPolicy:           r.Policy,
		Enabled:                r.Enabled,
		Labels:                 checks.LabelsView(r.Labels),
		ManagedBy:              resource.ShowManagedBy(r.ManagedBy),
		Revision:               r.Version,
		CreatedAt:              r.CreatedAt.UTC(),
		UpdatedAt:              r.UpdatedAt.UTC(),
		Warnings:               r.Warnings,
	}
	if conditionType, threshold, ok := r.Condition.Reference(); ok {
		view.ConditionType, view.Threshold = &conditionType, &threshold
	}
	return view
}

// RulePath is the ids of a check and of one of its rules in a path.
type RulePath struct {
	rest.IDPath
	RuleID string `path:"ruleID" format:"uuid" doc:"The id of the rule."`
}

// parseRule reads both ids.
func (p *RulePath) parseRule() (check, rule uuid.UUID, err error) {
	if check, err = p.Parse(checks.ResourceCheck); err != nil {
		return check, rule, err
	}
	rule, err = rest.ParseID(p.RuleID, ResourceRule)
	return check, rule, err
}

// ResourceID is the id for the audit log; zero when it is malformed.
func (p *RulePath) ResourceID() uuid.UUID {
	_, rule, _ := p.parseRule()
	return rule
}

func (a *rules) Register(r *rest.Registrar) {
	const list, one = "/v1/checks/{id}/alerts", "/v1/checks/{id}/alerts/{ruleID}"
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: list, ID: "list-alert-rules", Tag: resource.TagRules, Resource: checks.ResourceCheck,
		Summary: "List the alert rules of a check, newest first",
	}, a.list)
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: list, ID: "create-alert-rule", Tag: resource.TagRules, Scope: account.ScopeWrite,
		Audit: "rule.create", Resource: checks.ResourceCheck, Status: http.StatusCreated, Idempotent: true, Revisioned: true,
		Summary: "Create an alert rule",
		Description: "Set when it fires with `condition`, by its keys or as `type` and `threshold`, or with `condition_type` and `threshold`. " +
			"The keys of a condition add up: the rule fires when any of them matches. A rule that could never fire is refused.",
		Errors: []int{http.StatusConflict, http.StatusForbidden},
	}, a.create)
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: one, ID: "get-alert-rule", Tag: resource.TagRules, Resource: ResourceRule, Revisioned: true,
		Summary: "Get an alert rule",
	}, a.get)
	rest.Register(r, rest.Operation{
		Method:      http.MethodPut,
		Path:        one,
		ID:          "update-alert-rule",
		Tag:         resource.TagRules,
		Scope:       account.ScopeWrite,
		Audit:       "rule.update",
		Resource:    ResourceRule,
		Revisioned:  true,
		Summary:     "Update an alert rule",
		Description: "Members that are left out stay as they are; `condition` is replaced as a whole.",
		Errors:      []int{http.StatusConflict},
	}, a.update)
	rest.Register(r, rest.Operation{
		Method: http.MethodDelete, Path: one, ID: "delete-alert-rule", Tag: resource.TagRules, Scope: account.ScopeWrite,
		Audit: "rule.delete", Resource: ResourceRule, Revisioned: true, Status: http.StatusNoContent,
		Summary: "Delete an alert rule",
	}, a.delete)
	a.registerAll(r)
}

type rulesInput struct {
	rest.IDPath
	rest.ListQuery
}

func (a *rules) list(ctx context.Context, in *rulesInput) (*rest.Listing[alertRuleView], error) {
	check, err := in.Parse(checks.ResourceCheck)
	if err != nil {
		return nil, err
	}
	page, cursor, err := in.Open(rest.MaxPage, "rules", check.String())
	if err != nil {
		return nil, err
	}
	rows, extent, err := a.store.CheckRules(ctx, rest.CallerOf(ctx).Org.ID, check, page)
	if err != nil {
		return nil, err
	}
	return rest.NewPage(rows, extent, cursor, showRule), nil
}

type createRuleInput struct {
	rest.IDPath
	Body checks.AlertRuleCreate
}

func (a *rules) create(ctx context.Context, in *createRuleInput) (*rest.Answer[alertRuleView], error) {
	check, err := in.Parse(checks.ResourceCheck)
	if err != nil {
		return nil, err
	}
	rule, err := in.Body.NewRule(rest.CallerOf(ctx).Org.ID, check)
	if err != nil {
		return nil, err
	}
	rest.AuditResource(ctx, rule.ID)
	rest.ShowRepeated(ctx, showRule)
	if rule, err = a.store.CreateRule(ctx, rule); err != nil {
		return nil, err
	}
	a.notifier.RulesChanged(ctx, rest.CallerOf(ctx).Org.ID, check)
	return rest.NewAnswer(showRule(rule)), nil
}

func (a *rules) get(ctx context.Context, in *RulePath) (*rest.Answer[alertRuleView], error) {
	check, id, err := in.parseRule()
	if err != nil {
		return nil, err
	}
	rule, err := a.store.Rule(ctx, rest.CallerOf(ctx).Org.ID, check, id)
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(showRule(rule)), nil
}

type updateRuleInput struct {
	RulePath
	Body checks.AlertRuleUpdate
}

func (a *rules) update(ctx context.Context, in *updateRuleInput) (*rest.Answer[alertRuleView], error) {
	check, id, err := in.parseRule()
	if err != nil {
		return nil, err
	}
	wrong := in.Body.Clean()
	wanted := in.Body.ConditionInput()
	rule, err := a.store.UpdateRule(ctx, rest.CallerOf(ctx).Org.ID, check, id, func(r *vigil.Rule) error {
		if err := rest.PreconditionOf(ctx).Check(ResourceRule, r.Version); err != nil {
			return err
		}
		if wanted.Given() {
			condition, err := in.Body.ResolveCondition(&r.Condition)
			if err := rest.Together(wrong, err); err != nil {
				return err
			}
			r.Condition = condition
		}
		if wrong != nil {
			return wrong
		}
		in.Body.Apply(r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	a.notifier.RulesChanged(ctx, rest.CallerOf(ctx).Org.ID, check)
	return rest.NewAnswer(showRule(rule)), nil
}

func (a *rules) delete(ctx context.Context, in *RulePath) (*struct{}, error) {
	check, id, err := in.parseRule()
	if err != nil {
		return nil, err
	}
	if err := a.store.DeleteRule(ctx, rest.CallerOf(ctx).Org.ID, check, id, rest.PreconditionOf(ctx)); err != nil {
		return nil, err
	}
	a.notifier.RulesChanged(ctx, rest.CallerOf(ctx).Org.ID, check)
	return nil, nil //nolint:nilnil // Huma's way to answer without a body
}
