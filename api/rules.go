package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/google/uuid"

	"vigil"
)

const (
	tagRules     = "Alert rules"
	resourceRule = "rule"
)

// alertRuleView is an AlertRule (spec section 2).
type alertRuleView struct {
	ID      uuid.UUID `json:"id" format:"uuid"`
	CheckID uuid.UUID `json:"check_id" format:"uuid"`
	Name    string    `json:"name" minLength:"1" maxLength:"200" example:"Three failures in a row"`
	// The pair is there when it says all of the condition but its severity.
	ConditionType          *vigil.ConditionType `json:"condition_type" doc:"The condition as one of consecutive_failures, response_time, status_code, ssl_expiry; null when none says the same." example:"consecutive_failures"`
	Threshold              *float64             `json:"threshold" doc:"The number of condition_type; null without one." example:"3"`
	Condition              conditionView        `json:"condition"`
	NotificationChannelIDs []uuid.UUID          `json:"notification_channel_ids" minItems:"1" maxItems:"100" doc:"The channels that are told."`
	NotifyOn               vigil.NotifyOn       `json:"notify_on" enum:"unhealthy,healthy,both" default:"unhealthy" doc:"Whether the channels are told when an incident opens, when it resolves by itself, or both times."`
	RegionPolicy           vigil.RegionPolicy   `json:"region_policy" enum:"any,majority,all" default:"any" doc:"In how many of the regions that have a vote the rule must fire: one, more than half, or all."`
	Enabled                bool                 `json:"enabled" default:"true"`
	CreatedAt              time.Time            `json:"created_at"`
	UpdatedAt              time.Time            `json:"updated_at"`
}

// conditionView documents a condition in keyed form. Its fields are those of
// vigil.Condition.
type conditionView struct {
	HealthStatus     string         `json:"health_status,omitempty" enum:"down,unhealthy,up,healthy" doc:"Fires on a failing result (down, unhealthy) or on a succeeding one (up, healthy)."`
	FailureThreshold int            `json:"failure_threshold,omitempty" minimum:"1" maximum:"1000" doc:"Fires after so many failures in a row."`
	ResponseTimeMS   *int           `json:"response_time_ms,omitempty" minimum:"0" maximum:"86400000" doc:"Fires on a response that takes longer, in milliseconds."`
	StatusCode       int            `json:"status_code,omitempty" minimum:"100" maximum:"999" doc:"Fires on this status code and higher ones."`
	DNSChanged       bool           `json:"dns_changed,omitempty" doc:"Fires for the result whose DNS records differ from the ones before."`
	SSLDaysRemaining *int           `json:"ssl_days_remaining,omitempty" minimum:"0" maximum:"36500" doc:"Fires while the certificate expires within so many days."`
	Severity         vigil.Severity `json:"severity,omitempty" enum:"critical,warning,info" doc:"Severity of the incidents; critical when it is left out. It never makes the rule fire."`
}

func showRule(r vigil.Rule) alertRuleView {
	view := alertRuleView{
		ID: r.ID, CheckID: r.CheckID, Name: r.Name, Condition: conditionView(r.Condition),
		NotificationChannelIDs: r.Channels, NotifyOn: r.NotifyOn, RegionPolicy: r.Policy, Enabled: r.Enabled,
		CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(),
	}
	if kind, threshold, ok := r.Condition.Reference(); ok {
		view.ConditionType, view.Threshold = &kind, &threshold
	}
	return view
}

// RulePath is the ids of a check and of one of its rules in a path.
type RulePath struct {
	IDPath
	RuleID string `path:"ruleID" format:"uuid" doc:"The id of the rule."`
}

// parseRule reads both ids.
func (p *RulePath) parseRule() (check, rule uuid.UUID, err error) {
	if check, err = p.parse(resourceCheck); err != nil {
		return check, rule, err
	}
	rule, err = parseID(p.RuleID, resourceRule)
	return check, rule, err
}

// resourceID is the id for the audit log; zero when it is malformed.
func (p *RulePath) resourceID() uuid.UUID {
	_, rule, _ := p.parseRule()
	return rule
}

func (s *Server) registerRules() {
	const list, one = "/v1/checks/{id}/alerts", "/v1/checks/{id}/alerts/{ruleID}"
	register(s, operation{
		method: http.MethodGet, path: list, id: "list-alert-rules", tag: tagRules, resource: resourceCheck,
		summary: "List the alert rules of a check, newest first",
	}, s.listRules)
	register(s, operation{
		method: http.MethodPost, path: list, id: "create-alert-rule", tag: tagRules, audit: "rule.create", resource: resourceCheck, status: http.StatusCreated,
		summary: "Create an alert rule",
		description: "Say when it fires with `condition`, by its keys or as `type` and `threshold`, or with `condition_type` and `threshold`. " +
			"The keys of a condition add up: the rule fires when any of them matches. A rule that could never fire is refused.",
		body: schemaRef("AlertRuleCreate"),
	}, s.createRule)
	register(s, operation{
		method: http.MethodGet, path: one, id: "get-alert-rule", tag: tagRules, resource: resourceRule,
		summary: "Show an alert rule",
	}, s.getRule)
	register(s, operation{
		method: http.MethodPut, path: one, id: "update-alert-rule", tag: tagRules, audit: "rule.update", resource: resourceRule,
		summary:     "Change an alert rule",
		description: "Members that are left out stay as they are; `condition` is replaced as a whole.",
		body:        schemaRef("AlertRuleUpdate"),
	}, s.updateRule)
	register(s, operation{
		method: http.MethodDelete, path: one, id: "delete-alert-rule", tag: tagRules, audit: "rule.delete", resource: resourceRule, status: http.StatusNoContent,
		summary: "Delete an alert rule",
	}, s.deleteRule)
}

type rulesInput struct {
	IDPath
	PageQuery
}

func (s *Server) listRules(ctx context.Context, in *rulesInput) (*listOf[alertRuleView], error) {
	check, err := in.parse(resourceCheck)
	if err != nil {
		return nil, err
	}
	rules, total, err := s.Store.Rules(ctx, caller(ctx).org.ID, check, in.page())
	if err != nil {
		return nil, err
	}
	return listing(rules, total, showRule), nil
}

type createRuleInput struct {
	IDPath
	Body json.RawMessage
}

func (s *Server) createRule(ctx context.Context, in *createRuleInput) (*answerOf[alertRuleView], error) {
	check, err := in.parse(resourceCheck)
	if err != nil {
		return nil, err
	}
	patch, err := readRulePatch(in.Body, true)
	if err != nil {
		return nil, err
	}
	auditMembers(ctx, patch.given)
	rule := vigil.Rule{
		OrgID: caller(ctx).org.ID, CheckID: check, NotifyOn: vigil.NotifyUnhealthy, Policy: vigil.AnyRegion, Enabled: true,
	}
	if rule.Condition, err = patch.condition.Resolve(nil); err != nil {
		return nil, err
	}
	patch.apply(&rule)
	if rule.ID, err = uuid.NewV7(); err != nil {
		return nil, err
	}
	auditResource(ctx, rule.ID)
	if rule, err = s.Store.CreateRule(ctx, rule); err != nil {
		return nil, err
	}
	s.tellRules(ctx, check)
	return answering(showRule(rule)), nil
}

func (s *Server) getRule(ctx context.Context, in *RulePath) (*answerOf[alertRuleView], error) {
	check, id, err := in.parseRule()
	if err != nil {
		return nil, err
	}
	rule, err := s.Store.Rule(ctx, caller(ctx).org.ID, check, id)
	if err != nil {
		return nil, err
	}
	return answering(showRule(rule)), nil
}

type updateRuleInput struct {
	RulePath
	Body json.RawMessage
}

func (s *Server) updateRule(ctx context.Context, in *updateRuleInput) (*answerOf[alertRuleView], error) {
	check, id, err := in.parseRule()
	if err != nil {
		return nil, err
	}
	patch, err := readRulePatch(in.Body, false)
	if err != nil {
		return nil, err
	}
	auditMembers(ctx, patch.given)
	rule, err := s.Store.UpdateRule(ctx, caller(ctx).org.ID, check, id, func(r *vigil.Rule) error {
		if patch.condition.Given() {
			condition, err := patch.condition.Resolve(&r.Condition)
			if err != nil {
				return err
			}
			r.Condition = condition
		}
		patch.apply(r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.tellRules(ctx, check)
	return answering(showRule(rule)), nil
}

func (s *Server) deleteRule(ctx context.Context, in *RulePath) (*struct{}, error) {
	check, id, err := in.parseRule()
	if err != nil {
		return nil, err
	}
	if err := s.Store.DeleteRule(ctx, caller(ctx).org.ID, check, id); err != nil {
		return nil, err
	}
	s.tellRules(ctx, check)
	return nil, nil //nolint:nilnil // Huma's way to answer without a body
}

// tellRules lets the loops of a check, and its incident, know that its rules
// changed.
func (s *Server) tellRules(ctx context.Context, check uuid.UUID) {
	s.lookAt(ctx, check)
	s.applyLoops(ctx, vigil.Check{ID: check, OrgID: caller(ctx).org.ID}, nil)
}
