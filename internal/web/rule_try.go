// SPDX-License-Identifier: Apache-2.0

package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/client"
)

// triedDays is how far a rule is tried back, in days.
const triedDays = 7

// ruleTried is what a rule would have done on the stored results.
type ruleTried struct {
	Mark   mark
	Before string // the words before the figure
	Figure string // such as "3 incidents"
	After  string
	More   string // a second sentence
	Wrong  bool   // Before is why it could not be tried
}

// tryNewRule and tryRule say what the rule of a form would have done. With scripts the form
// asks while it is edited, and gets the sentence alone.
func (s *Server) tryNewRule(r *request) error {
	check, err := r.readCheck()
	if err != nil {
		return err
	}
	return r.tryRule(check, nil)
}

func (s *Server) tryRule(r *request) error {
	check, rule, err := r.readRule()
	if err != nil {
		return err
	}
	return r.tryRule(check, rule)
}

func (r *request) tryRule(check *client.Check, rule *client.AlertRule) error {
	f, err := newRuleForm(r, check, rule)
	if err != nil {
		return err
	}
	tried, err := r.backtest(check.Id, rule, f)
	if err != nil {
		if !f.refused(err) {
			return err
		}
		tried = &ruleTried{Wrong: true, Mark: newMark("down", ""), Before: withoutForms(err.Error())}
	}
	if r.partial() {
		return r.renderPart(http.StatusOK, "rule", "rule-tried", tried)
	}
	f.Heading = "Not tried."
	f.Tried = tried
	return r.renderRule(f.Status, check, rule, f)
}

// backtest replays the rule of a form, and the saved one beside it.
func (r *request) backtest(check uuid.UUID, rule *client.AlertRule, f *ruleForm) (*ruleTried, error) {
	edited := map[string]any{"name": f.get("name"), "condition": f.condition(), "notify_on": f.get("notify_on")}
	if policy := f.get("region_policy"); policy != "" {
		edited["region_policy"] = policy
	}
	rules := []any{edited}
	if rule != nil {
		rules = append(rules, map[string]any{"id": rule.Id})
	}
	now := r.now.UTC()
	from := now.Add(-triedDays * 24 * time.Hour)
	body, err := json.Marshal(map[string]any{"rules": rules, "from": from, "to": now})
	if err != nil {
		return nil, err
	}
	answer, err := r.api.BacktestAlertRulesWithBodyWithResponse(r.Context(), check, "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return triedOf(&answer.JSON200.Data, from), nil
}

// triedOf words the answer of a backtest of the period since from.
func triedOf(b *client.Backtest, from time.Time) *ruleTried {
	if b.Results == 0 {
		return &ruleTried{Mark: newMark("unknown", ""), Before: fmt.Sprintf("No results in the last %d days to try it against.", triedDays)}
	}
	totals := b.Rules[0].Totals
	tried := &ruleTried{
		Mark: newMark("done", ""), Before: "Would have opened ", Figure: counted(totals.Incidents, "incident"),
		After: fmt.Sprintf(" in the last %d days", triedDays),
	}
	if since := b.Period.From; since.Sub(from) > time.Hour {
		tried.After = " in the " + span(b.Period.To.Sub(since)) + " for which there are results"
	}
	switch {
	case totals.Incidents == 1:
		tried.After += ", open for " + span(seconds(totals.LongestSeconds))
	case totals.Incidents > 1:
		tried.After += ", the longest for " + span(seconds(totals.LongestSeconds))
	}
	tried.After += "."
	if totals.Incidents > 0 {
		tried.Mark = newMark("warn", "")
		tried.More = "Each channel would have received " + counted(totals.Messages, "message") + "."
	}
	if len(b.Rules) > 1 {
		tried.More = "The saved rule: " + counted(b.Rules[1].Totals.Incidents, "incident") + ". " + tried.More
	}
	return tried
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
