// SPDX-License-Identifier: Apache-2.0

package backtests

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/alerts"
	"github.com/vigil-monitor/vigil/api/checks"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/backtest"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/maintenance"
)

const (
	// defaultBacktest is the period of a backtest that names none, longestBacktest the longest.
	defaultBacktest = 7 * 24 * time.Hour
	longestBacktest = 400 * 24 * time.Hour
	// backtestsAtOnce is how many backtests of one organization a process runs at a time, and
	// backtestPause when another one is worth a try, in seconds.
	backtestsAtOnce = 2
	backtestPause   = 5
	backtestsBusy   = "Two backtests of the organization run already"
	// backtestWarm is the fewest results of a region from which its state before the period is
	// made; a rule that counts more results needs more.
	backtestWarm = 100
	// silenceIntervals after its newest slot, and the deadline of the probe, a region is silent.
	silenceIntervals = 3
)

// Store reads stored results again, and writes nothing.
type Store interface {
	ReplayExtent(ctx context.Context, orgID, checkID uuid.UUID, from, to time.Time) (backtest.ReplayExtent, error)
	ReplayResults(ctx context.Context, checkID uuid.UUID, regions []string, from, to time.Time, warm int) iter.Seq2[backtest.Row, error]
	PastMaintenance(ctx context.Context, orgID, checkID uuid.UUID, from, to time.Time) ([]maintenance.Occurrence, error)
	Check(ctx context.Context, orgID, id uuid.UUID) (vigil.Check, error)
	Rule(ctx context.Context, orgID, checkID, id uuid.UUID) (vigil.Rule, error)
	RuleByID(ctx context.Context, orgID, id uuid.UUID) (vigil.Rule, error)
	Checks(ctx context.Context, orgID uuid.UUID, list listing.CheckList) ([]vigil.Check, listing.Extent, error)
	RecordedIncidents(ctx context.Context, orgID, checkID uuid.UUID, from, to time.Time, limit int) ([]vigil.Incident, int64, error)
}

// backtests says which incidents a rule would have opened.
type backtests struct {
	store Store
	types resource.CheckTypes
	now   func() time.Time
	limit *resource.AtOnce
}

// New returns the operations of backtests.
func New(store Store, types resource.CheckTypes, now func() time.Time) resource.Operations {
	return &backtests{store: store, types: types, now: now, limit: resource.NewAtOnce(backtestsAtOnce, backtestsBusy, backtestPause)}
}

// backtestRule is a rule to replay: a stored one by its id, or one that is not saved.
type backtestRule struct {
	ID                     *string                `json:"id,omitempty" format:"uuid" doc:"A rule of the check. What is sent beside it takes the place of what is stored."`
	Name                   string                 `json:"name,omitempty" maxLength:"200" doc:"What the answer calls the rule." example:"Three failures in a row"`
	Condition              checks.ConditionMember `json:"condition,omitempty" doc:"As in an alert rule."`
	ConditionType          json.RawMessage        `json:"condition_type,omitempty" doc:"As in an alert rule."`
	Threshold              json.RawMessage        `json:"threshold,omitempty" doc:"As in an alert rule."`
	RegionPolicy           vigil.RegionPolicy     `json:"region_policy,omitempty" enum:"any,majority,all" doc:"As in an alert rule; any when it is left out."`
	NotifyOn               vigil.NotifyOn         `json:"notify_on,omitempty" enum:"unhealthy,healthy,both" doc:"As in an alert rule; unhealthy when it is left out."`
	NotificationChannelIDs checks.ChannelIDs      `json:"notification_channel_ids,omitempty" maxItems:"100" doc:"The channels whose messages are counted."`
}

// backtestBody is what to replay.
type backtestBody struct {
	Rules  []backtestRule `json:"rules" minItems:"1" maxItems:"2" doc:"One rule, or two to compare. Each is replayed as if it were the only one."`
	From   *time.Time     `json:"from,omitempty" doc:"Start of the period; 7 days before its end when it is left out. It is moved to the oldest stored result."`
	To     *time.Time     `json:"to,omitempty" doc:"End of the period; now when it is left out."`
	Actual bool           `json:"actual,omitempty" doc:"Whether to answer with the incidents of the check that were recorded in the period, too."`
}

type backtestInput struct {
	rest.IDPath
	Body backtestBody
}

func (b *backtests) Register(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method:   http.MethodPost,
		Path:     "/v1/checks/{id}/alerts/backtest",
		ID:       "backtest-alert-rules",
		Tag:      resource.TagRules,
		Scope:    account.ScopeRead,
		Computes: true,
		Audit:    rest.NotAudited,
		Resource: checks.ResourceCheck,
		Summary:  "Replay stored results through alert rules",
		Description: "Answers which incidents one or two rules would have opened on the results that are stored, judged by the same code as " +
			"live results. Nothing is stored, opened or sent. Times are those of slots. Up to 2,000,000 results are replayed at a time, and " +
			"an organization runs two backtests at once.",
		Errors: []int{http.StatusTooManyRequests},
	}, b.run)
	rest.Register(r, rest.Operation{
		Method:   http.MethodPost,
		Path:     "/v1/backtest",
		ID:       "backtest-checks",
		Tag:      resource.TagRules,
		Scope:    account.ScopeRead,
		Computes: true,
		Audit:    rest.NotAudited,
		Summary:  "Replay the stored results of several checks through alert rules",
		Description: "Answers how many incidents one or two rules would have opened for each check with a label, and in all. It is the " +
			"backtest of one check for at most 50 checks, with totals only; all their results count for its limit.",
		Errors: []int{http.StatusTooManyRequests, http.StatusNotFound},
	}, b.runLabel)
}

func (b *backtests) run(ctx context.Context, in *backtestInput) (*rest.Answer[backtestView], error) {
	id, err := in.Parse(checks.ResourceCheck)
	if err != nil {
		return nil, err
	}
	org := rest.CallerOf(ctx).Org.ID
	check, err := b.store.Check(ctx, org, id)
	if err != nil {
		return nil, err
	}
	rules, err := b.rules(ctx, org, &check, in.Body.Rules)
	if err != nil {
		return nil, err
	}
	period, err := replayPeriod(in.Body.From, in.Body.To, b.now())
	if err != nil {
		return nil, err
	}
	replays, err := b.replay(ctx, org, []vigil.Check{check}, rules, period)
	if err != nil {
		return nil, err
	}
	replay := replays[0]
	view := backtestView{Assumptions: append(assumptions(), replay.notes()...)}
	view.show(replay)
	if in.Body.Actual {
		recorded, total, err := b.store.RecordedIncidents(ctx, org, id, replay.From, replay.To, backtest.MaxIncidents)
		if err != nil {
			return nil, err
		}
		view.Actual = showRecorded(recorded, total, replay.reports[0], replay.To)
	}
	return rest.NewAnswer(view), nil
}

// replay replays rules for checks of an organization, unless that is more than a request may
// ask for.
func (b *backtests) replay(
	ctx context.Context, org uuid.UUID, checks []vigil.Check, rules []vigil.Rule, period backtestPeriod,
) ([]*checkReplay, error) {
	done, err := b.limit.Begin(org)
	if err != nil {
		return nil, err
	}
	defer done()
	replays := make([]*checkReplay, len(checks))
	for i := range checks {
		if replays[i], err = b.measure(ctx, checks[i], rules, period); err != nil {
			return nil, err
		}
	}
	if err := limitResults(replays, period); err != nil {
		return nil, err
	}
	for _, replay := range replays {
		if err := replay.run(ctx, b.store); err != nil {
			return nil, err
		}
	}
	return replays, nil
}

// rules reads the rules of a request. A stored one is of the check, or without one of any
// check of the organization.
func (b *backtests) rules(ctx context.Context, org uuid.UUID, check *vigil.Check, sent []backtestRule) ([]vigil.Rule, error) {
	rules := make([]vigil.Rule, len(sent))
	for i := range sent {
		rule, err := b.rule(ctx, org, check, &sent[i])
		if err != nil {
			return nil, vigil.Beneath(fmt.Sprintf("rules[%d]", i), err)
		}
		rules[i] = rule
	}
	return rules, nil
}

func (b *backtests) rule(ctx context.Context, org uuid.UUID, check *vigil.Check, sent *backtestRule) (rule vigil.Rule, err error) {
	rule = vigil.Rule{ID: uuid.New(), NotifyOn: vigil.NotifyUnhealthy, Policy: vigil.AnyRegion}
	var stored *vigil.Condition
	if sent.ID != nil {
		id, err := rest.ParseID(*sent.ID, alerts.ResourceRule)
		if err != nil {
			return rule, err
		}
		if check == nil {
			rule, err = b.store.RuleByID(ctx, org, id)
		} else {
			rule, err = b.store.Rule(ctx, org, check.ID, id)
		}
		if err != nil {
			return rule, err
		}
		stored = &rule.Condition
	}
	form := checks.RuleMembers{Condition: sent.Condition, ConditionType: sent.ConditionType, Threshold: sent.Threshold}
	if rule.Condition, err = form.ConditionInput().Resolve(stored); err != nil {
		return rule, err
	}
	if sent.Name != "" {
		rule.Name = sent.Name
	}
	if sent.RegionPolicy != "" {
		rule.Policy = sent.RegionPolicy
	}
	if sent.NotifyOn != "" {
		rule.NotifyOn = sent.NotifyOn
	}
	if sent.NotificationChannelIDs != nil {
		rule.Channels = nil
		for _, text := range sent.NotificationChannelIDs {
			channel, err := rest.ParseID(text, alerts.ResourceChannel)
			if err != nil {
				return rule, err
			}
			rule.Channels = append(rule.Channels, channel)
		}
	}
	return rule, nil
}

// silence returns how long after its newest slot a region has a vote.
func (b *backtests) silence(check *vigil.Check) (time.Duration, error) {
	parsed, err := b.types.Parse(check.Type, check.Config, check.Interval)
	if err != nil {
		return 0, err
	}
	return silenceIntervals*check.Interval + check.Retry.Deadline(parsed.Deadline()), nil
}

// assumptions are what every backtest assumes.
func assumptions() []string {
	return []string{
		"The check is judged as it is defined now.",
		"No incident is acknowledged or resolved by hand.",
		"Incidents open and resolve at the time of the slot; live ones do a moment later.",
	}
}
