// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// TestClock is set while the process runs, and compared with that of a Postgres.
func TestClock(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	var log bytes.Buffer
	var off int64 // seconds by which the clock of the machine is ahead
	c := &clock{own: func() time.Time { return timingtest.Wall(time.Now(), off) }, log: slog.New(slog.NewTextHandler(&log, nil))}
	// apart is by how much the clock is ahead of the database's.
	apart := func() time.Duration {
		t.Helper()
		now, err := store.Clock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return c.Now().Round(0).Sub(now)
	}
	const near = 10 * time.Second // a busy machine answers late at times
	if d := apart(); d.Abs() > near {
		t.Fatalf("before the first comparison it is %v ahead", d)
	}
	before := c.Now()
	for _, step := range []struct {
		off  int64
		want time.Duration
		logs string
	}{
		{0, 0, ""},
		{20, 20 * time.Second, ""}, // within the limit of workers
		{0, 0, ""},
		{90, 0, "is not that of the database"},
		{-90, 0, ""},
		{-90, 0, ""},
		{0, 0, "is that of the database again"},
		{-3600, 0, "is not that of the database"},
		{0, 0, "is that of the database again"},
		{3600, 0, "is not that of the database"},
	} {
		log.Reset()
		last := apart()
		off = step.off
		if now := apart(); (now - last).Abs() > near {
			t.Errorf("set to %d s ahead: it is %v ahead before it is compared, and was %v", step.off, now, last)
		}
		c.compare(t.Context(), store.Clock)
		if now := apart(); (now - step.want).Abs() > near {
			t.Errorf("%d s ahead: it is %v ahead once it is compared, want %v", step.off, now, step.want)
		}
		if age := c.Now().Sub(before); age < -near || age > time.Minute {
			t.Errorf("%d s ahead: an instant of some seconds ago is %v old", step.off, age)
		}
		if text := log.String(); step.logs == "" && text != "" || !strings.Contains(text, step.logs) {
			t.Errorf("%d s ahead: it logs %q, want %q", step.off, text, step.logs)
		}
	}
	c.compare(t.Context(), func(context.Context) (time.Time, error) { return time.Time{}, errors.New("away") })
	if d := apart(); d.Abs() > near {
		t.Errorf("while the database is away it is %v ahead", d)
	}
}

// TestClockIsSteady: while it is corrected, what an answer's way can explain does not move it.
func TestClockIsSteady(t *testing.T) {
	t.Parallel()
	own := timingtest.NewClock(time.Now())
	c := &clock{own: own.Now, log: slog.New(slog.DiscardHandler)}
	compare := func(ahead time.Duration) {
		c.compare(t.Context(), func(context.Context) (time.Time, error) {
			own.Advance(200 * time.Millisecond)
			return own.Now().Add(-100*time.Millisecond - ahead), nil
		})
	}
	compare(time.Minute)
	first := own.Now().Sub(c.Now())
	compare(time.Minute + 90*time.Millisecond)
	if now := own.Now().Sub(c.Now()); now != first {
		t.Errorf("it is corrected by %v, want %v as before", now, first)
	}
	compare(time.Minute + time.Second)
	if now := own.Now().Sub(c.Now()); now != first+time.Second {
		t.Errorf("it is corrected by %v, want %v", now, first+time.Second)
	}
}
