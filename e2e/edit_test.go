// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// hanging is a target whose answers wait until they are let go while it hangs.
type hanging struct {
	*httptest.Server
	hangs, broken atomic.Bool
	waiting       atomic.Int64 // requests that hang
	letGo         chan struct{}
}

func newHanging(t *testing.T) *hanging {
	t.Helper()
	h := &hanging{letGo: make(chan struct{})}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.hangs.Load() {
			h.waiting.Add(1)
			defer h.waiting.Add(-1)
			select {
			case <-h.letGo:
			case <-r.Context().Done():
			}
		}
		if h.broken.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(h.Close)
	return h
}

// TestEditDuringAFailingProbe edits a check ten times while a probe hangs that will fail. The edit
// has the loop abandon the turn, which stores its result and its vote all the same, so that the
// loop knows neither. No other tenant notices: no other revision changes and no stream jumps.
func TestEditDuringAFailingProbe(t *testing.T) {
	timingtest.Parallel(t)
	_, c := shared(t)
	_, other := shared(t)
	db := openDatabase(t, common.dsn(t))
	number := func(query string, args ...any) (n int64) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}

	site := newHanging(t)
	region := "eu-central-fra"
	var edited, untouched check
	other.into(&untouched, http.MethodPost, "/v1/checks", httpCheck("of another tenant", site.URL+"/ok", 3600, region))
	c.into(&edited, http.MethodPost, "/v1/checks", httpCheck("edited", site.URL, 1, region))
	var channel struct {
		ID string `json:"id"`
	}
	c.into(&channel, http.MethodPost, "/v1/notification-channels", object{
		"name": "receiver", "type": "webhook", "config": object{"url": newSwitchable(t).URL},
	})
	c.into(nil, http.MethodPost, "/v1/checks/"+edited.ID+"/alerts", object{
		"name": "down", "condition": object{"failure_threshold": 1}, "notification_channel_ids": []string{channel.ID},
	})
	const (
		last     = "SELECT count(*) FROM check_regions WHERE check_id = $1 AND last_scheduled > $2 AND health = 'healthy'"
		fires    = "SELECT count(*) FROM region_votes WHERE check_id = $1 AND (cardinality(firing) > 0) = $2"
		revision = "SELECT revision FROM checks WHERE id = $1"
		stream   = "SELECT coalesce(max(seq), 0) FROM stream_heads AS h JOIN checks AS c USING (org_id) WHERE c.id = $1"
	)
	healthy := func(since time.Time) {
		t.Helper()
		eventually(t, "the check is healthy", func() bool { return number(last, edited.ID, since) == 1 && number(fires, edited.ID, false) == 1 })
	}
	healthy(time.Time{})
	eventually(t, "the other check has a result", func() bool { return number(last, untouched.ID, time.Time{}) == 1 })
	known, restores, position := number(revision, untouched.ID), number("SELECT count(*) FROM restores"), number(stream, edited.ID)

	for n := range 10 {
		site.broken.Store(true)
		site.hangs.Store(true)
		eventually(t, "a probe hangs", func() bool { return site.waiting.Load() > 0 })
		c.into(nil, http.MethodPut, "/v1/checks/"+edited.ID, object{"name": fmt.Sprintf("edit %d", n)})
		eventually(t, "the loop has the edit", func() bool {
			return number("SELECT count(*) FROM check_regions WHERE check_id = $1 AND applied = desired", edited.ID) == 1
		})
		site.hangs.Store(false)
		for site.waiting.Load() > 0 {
			select {
			case site.letGo <- struct{}{}:
			case <-time.After(10 * time.Millisecond): // it has gone by itself
			}
		}
		eventually(t, "the failure is reported", func() bool { return number(fires, edited.ID, true) == 1 })
		site.broken.Store(false)
		healthy(time.Now().Add(-time.Second))
	}
	if n := number("SELECT count(*) FROM restores"); n != restores {
		t.Errorf("%d restores were found, none happened", n-restores)
	}
	if now := number(revision, untouched.ID); now != known {
		t.Errorf("the check of another tenant went from revision %d to %d", known, now)
	}
	if now := number(stream, edited.ID); now > position+100 {
		t.Errorf("the stream jumped from %d to %d", position, now)
	}
	eventually(t, "each episode has its end", func() bool {
		return number("SELECT count(*) FROM incidents WHERE check_id = $1 AND status <> 'resolved'", edited.ID) == 0
	})
	if n := number("SELECT count(*) FROM incidents WHERE check_id = $1", edited.ID); n < 1 || n > 10 {
		t.Errorf("%d incidents of 10 episodes", n)
	}
}
