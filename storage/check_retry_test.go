// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
)

func TestCheckRetry(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	retry := vigil.Retry{Attempts: 3, Delay: 30 * time.Second, On: vigil.RetryNetwork, Unsafe: true}
	c := draft(org.ID, newark)
	c.Interval, c.Retry = 5*time.Minute, retry
	c = newCheck(t, s, c)
	stored := func() vigil.Check {
		t.Helper()
		def, err := s.Definition(t.Context(), c.ID)
		if err != nil {
			t.Fatal(err)
		}
		return def.Check
	}
	deadline := func() (ms int64) {
		t.Helper()
		if err := s.DB().NewRaw("SELECT deadline_ms FROM check_regions WHERE check_id = ?", c.ID).Scan(t.Context(), &ms); err != nil {
			t.Fatal(err)
		}
		return ms
	}
	if got := stored(); got.Retry != retry {
		t.Errorf("stored %+v", got.Retry)
	}
	if got := deadline(); got != 300_000 { // 4 attempts of 60 s and 3 delays, but not more than the interval
		t.Errorf("a loop without a result has a deadline of %d ms", got)
	}

	changed := update(t, s, c, func(c *vigil.Check) { c.Retry = vigil.Retry{} })
	if got := stored(); got.Retry != (vigil.Retry{}) || changed.Revision != 2 || !got.Anchor.Equal(c.Anchor) {
		t.Errorf("revision %d with %+v", changed.Revision, got.Retry)
	}
	if again := update(t, s, c, func(c *vigil.Check) { c.Retry.On = vigil.RetryAny }); again.Revision != 2 {
		t.Errorf("the same retry made revision %d", again.Revision)
	}

	other := draft(org.ID, newark)
	other.Interval = time.Hour
	other = newCheck(t, s, other)
	c = other
	if got := deadline(); got != 60_000 {
		t.Errorf("without a retry it is %d ms", got)
	}
	update(t, s, c, func(c *vigil.Check) { c.Retry = vigil.Retry{Attempts: 1, Delay: 10 * time.Second} })
	if got := deadline(); got != 130_000 {
		t.Errorf("with a retry it is %d ms before the next result", got)
	}
}
