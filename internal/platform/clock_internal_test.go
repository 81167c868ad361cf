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

	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// TestClock is wrong by a time, and compared with that of a Postgres.
func TestClock(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	var log bytes.Buffer
	var off time.Duration
	c := &clock{own: func() time.Time { return time.Now().Add(off) }, log: slog.New(slog.NewTextHandler(&log, nil))}
	compare := func() {
		t.Helper()
		for range 20 { // a busy machine answers late at times
			before := c.own()
			c.compare(t.Context(), store.Clock)
			if c.own().Sub(before) < 200*time.Millisecond {
				return
			}
		}
		t.Skip("no answer of Postgres within 200 ms: the clocks cannot be compared")
	}
	for _, step := range []struct {
		off     time.Duration
		correct bool
		logs    string
	}{
		{300 * time.Millisecond, false, ""},
		{90 * time.Second, true, "is not that of the database"},
		{-90 * time.Second, true, ""},
		{-800 * time.Millisecond, true, ""},
		{0, false, "is that of the database again"},
	} {
		log.Reset()
		off = step.off
		compare()
		want := step.off
		if step.correct {
			want = 0
		}
		now, err := store.Clock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if apart := c.Now().Round(0).Sub(now) - want; apart.Abs() > 250*time.Millisecond {
			t.Errorf("%v ahead: it is %v ahead when it is corrected, want %v", step.off, apart+want, want)
		}
		if text := log.String(); step.logs == "" && text != "" || !strings.Contains(text, step.logs) {
			t.Errorf("%v ahead: it logs %q, want %q", step.off, text, step.logs)
		}
	}
	off = 90 * time.Second
	compare()
	before := c.Ahead()
	c.compare(t.Context(), func(context.Context) (time.Time, error) { return time.Time{}, errors.New("away") })
	if c.Ahead() != before {
		t.Errorf("while the database is away it is corrected by %v, want %v", c.Ahead(), before)
	}
}
