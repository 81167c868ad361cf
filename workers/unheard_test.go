//go:build !slim

package workers_test

import (
	"log/slog"
	"testing"
	"time"

	"vigil"
	"vigil/workers"
)

// TestRuleThatIsEnabledAgain holds that a rule that was disabled and enabled
// between two results alerts: the region that fires it has nothing new to tell.
func TestRuleThatIsEnabledAgain(t *testing.T) {
	t.Parallel()
	const ewr = "na-east-ewr"
	b := newBench(t, ewr)
	enable := func(enabled bool) {
		t.Helper()
		_, err := b.store.UpdateRule(t.Context(), b.org.ID, b.check.ID, b.rule.ID, func(r *vigil.Rule) error { r.Enabled = enabled; return nil })
		b.ok(err)
		b.ok(b.incidents.Look(t.Context(), b.check.ID))
	}
	b.vote(ewr, true)
	b.untilOpen(1)
	enable(false)
	b.untilResolved()
	b.untilIdle()
	enable(true)

	ledger := &hesitant{Store: b.store}
	later := func() time.Time { return time.Now().Add(time.Minute) } // the vote was told long ago
	quiet := slog.New(slog.DiscardHandler)
	sweep := workers.NewSweep(workers.NewLoops(b.temporal, b.store, quiet), ledger, ledger, later, quiet)
	sweep.CoverAlerts(b.incidents, b.store)
	b.ok(sweep.Start(t.Context()))
	defer func() { b.ok(sweep.Stop()) }()
	b.untilOpen(2)
}
