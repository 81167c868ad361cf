// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package reconcile_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/dispatch"
	"github.com/vigil-monitor/vigil/internal/reconcile"
	"github.com/vigil-monitor/vigil/workers/workerstest"
)

// TestReenabledRuleAlerts proves that a rule that was disabled and enabled again
// between two results opens an incident, although its region sends no new vote.
func TestReenabledRuleAlerts(t *testing.T) {
	t.Parallel()
	const ewr = "na-east-ewr"
	p := workerstest.Start(t, ewr)
	enable := func(enabled bool) {
		t.Helper()
		_, err := p.Store.UpdateRule(t.Context(), p.Org.ID, p.Check.ID, p.Rule.ID, func(r *vigil.Rule) error { r.Enabled = enabled; return nil })
		p.OK(err)
		p.OK(p.Incidents.Refresh(t.Context(), p.Check.ID))
	}
	p.Vote(ewr, true)
	p.AwaitOpen(1)
	enable(false)
	p.AwaitResolved()
	p.AwaitIdle()
	enable(true)

	store := &staleStore{Store: p.Store}
	later := func() time.Time { return time.Now().Add(time.Minute) } // the vote was reported long ago
	quiet := slog.New(slog.DiscardHandler)
	sweep := reconcile.New(reconcile.Options{
		Process: "test", Away: dispatch.Away, Loops: dispatch.NewLoops(p.Temporal, p.Store, quiet), Store: store, Housekeeping: store,
		Incidents: p.Incidents, IncidentStore: p.Store, Now: later, Log: quiet,
	})
	sweep.Start(t.Context())
	defer func() { p.OK(sweep.Stop()) }()
	p.AwaitOpen(2)
}
