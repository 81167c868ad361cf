// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/subscription"
	"github.com/vigil-monitor/vigil/storage"
)

// BenchmarkOpenWithSubscriptions opens incidents of checks of an organization that has 10,000, whose
// rules notify one channel, first without subscriptions and then with 50 in turns, so that both are
// measured beside the same noise. Ten of the fifty select the check; the others select by other
// labels, checks, severities and events. The figures are the 50th and 99th percentile of the whole
// transaction, its commit included, and by how much the second is longer.
func BenchmarkOpenWithSubscriptions(b *testing.B) {
	const checks, subscriptions = 10_000, 50
	s, _ := newStore(b)
	plain, crowded := newSubscribedBench(b, s, checks, 0), newSubscribedBench(b, s, checks, subscriptions)
	b.ResetTimer()
	var without, with []time.Duration
	for n := range b.N {
		without, with = append(without, plain.open(b, n)), append(with, crowded.open(b, n))
	}
	b.StopTimer()
	at := func(of []time.Duration, share float64) float64 {
		slices.Sort(of)
		return float64(of[int(share*float64(len(of)-1))].Microseconds()) / 1000
	}
	for _, p := range []float64{0.5, 0.99} {
		b.ReportMetric(at(without, p), fmt.Sprintf("ms/p%d-without", int(100*p)))
		b.ReportMetric(at(with, p), fmt.Sprintf("ms/p%d-with", int(100*p)))
		b.ReportMetric(at(with, p)-at(without, p), fmt.Sprintf("ms/p%d-more", int(100*p)))
	}
}

// subscribedBench is an organization with many checks, of which the first ones have rules.
type subscribedBench struct {
	store  *storage.Store
	checks []vigil.Check
	rules  []vigil.Rule
}

// benchRules is how many checks have a rule; each of them has an incident at a time.
const benchRules = 50

func newSubscribedBench(b *testing.B, s *storage.Store, checks, subscriptions int) *subscribedBench {
	b.Helper()
	org, _ := newOrg(b, s)
	if _, err := s.DB().NewRaw("UPDATE organizations SET tier = 'enterprise' WHERE id = ?", org.ID).Exec(b.Context()); err != nil {
		b.Fatal(err)
	}
	o := &subscribedBench{store: s}
	channel := func(name string) uuid.UUID {
		stored, err := s.CreateChannel(b.Context(), vigil.Channel{
			OrgID: org.ID, Name: name, Type: vigil.ChannelWebhook, Config: json.RawMessage(`{}`), Enabled: true,
		})
		if err != nil {
			b.Fatal(err)
		}
		return stored.ID
	}
	hook := channel("hook")
	for range benchRules {
		one := draft(org.ID, newark)
		one.Labels = vigil.Labels{"team": "shop", "tier": "1"}
		check := newCheck(b, s, one)
		rule, err := s.CreateRule(b.Context(), vigil.Rule{
			OrgID: org.ID, CheckID: check.ID, Name: "down", Condition: vigil.Condition{FailureThreshold: 1},
			Channels: []uuid.UUID{hook}, NotifyOn: vigil.NotifyBoth, Policy: vigil.AnyRegion, Enabled: true,
		})
		if err != nil {
			b.Fatal(err)
		}
		o.checks, o.rules = append(o.checks, check), append(o.rules, rule)
	}
	// The others are copies of the first one in the table of checks.
	var columns string
	if err := s.DB().NewRaw(`SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns
		WHERE table_name = 'checks' AND is_generated = 'NEVER' AND column_name NOT IN ('id', 'labels')`).Scan(b.Context(), &columns); err != nil {
		b.Fatal(err)
	}
	if _, err := s.DB().NewRaw("INSERT INTO checks (id, labels, "+columns+`)
		SELECT gen_random_uuid(), jsonb_build_object('team', 'team' || n % 40), `+columns+`
		FROM checks AS c, generate_series(1, ?) AS n WHERE c.id = ?`, checks-benchRules, o.checks[0].ID).Exec(b.Context()); err != nil {
		b.Fatal(err)
	}
	for n := range subscriptions {
		selector := []subscription.Selector{
			{Labels: []string{"team=shop"}},
			{Labels: []string{fmt.Sprintf("team=team%d", n)}},
			{CheckIDs: []uuid.UUID{o.checks[n%2].ID}},
			{SeverityMin: vigil.Warning, Labels: []string{"tier=2"}},
			{},
		}[n%5]
		events := []string{"incident.*"}
		if n%5 == 4 {
			events = []string{"channel.*", "check.paused"}
		}
		_, err := s.CreateSubscription(b.Context(), subscription.Subscription{
			OrgID: org.ID, Name: fmt.Sprint(n), ChannelID: channel(fmt.Sprint(n)), Events: events, Selector: selector, Enabled: true,
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	if _, err := s.DB().NewRaw("ANALYZE").Exec(b.Context()); err != nil {
		b.Fatal(err)
	}
	return o
}

// open opens an incident of one of the checks, and ends it without being measured.
func (o *subscribedBench) open(b *testing.B, n int) time.Duration {
	b.Helper()
	check, rule := o.checks[n%benchRules], o.rules[n%benchRules]
	began := time.Now()
	out, err := o.store.OpenIncident(b.Context(), vigil.OpenRequest{ID: uuid.New(), CheckID: check.ID, Rules: []uuid.UUID{rule.ID}})
	took := time.Since(began)
	if err != nil || !out.Changed {
		b.Fatalf("opened %+v, %v", out, err)
	}
	if _, err := o.store.ResolveIncident(b.Context(), vigil.ResolveRequest{
		ID: out.Incident.ID, Resolution: vigil.ResolvedAutomatically,
	}); err != nil {
		b.Fatal(err)
	}
	return took
}
