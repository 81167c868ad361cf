// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/storage"
)

// hangingReceiver accepts requests and answers none of them while it hangs.
type hangingReceiver struct {
	receiver
	hangs   atomic.Bool
	waiting atomic.Int64 // requests that wait for an answer
	most    atomic.Int64 // of them at once
}

func newHangingReceiver(t *testing.T) *hangingReceiver {
	t.Helper()
	h := &hangingReceiver{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, err := readPost(r)
		if err != nil {
			return
		}
		p.accepted = !h.hangs.Load()
		h.keep(p)
		if p.accepted {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		n := h.waiting.Add(1)
		for most := h.most.Load(); n > most && !h.most.CompareAndSwap(most, n); most = h.most.Load() {
			continue
		}
		<-r.Context().Done()
		h.waiting.Add(-1)
	}))
	t.Cleanup(h.Close)
	return h
}

// differentIDs counts messages, by incident and kind, that came with more than one
// webhook-id, or whose webhook-id belongs to another message.
func (s *receiver) differentIDs() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids, messages := map[string]string{}, map[string]string{}
	for _, p := range s.posts {
		message := p.incident + " " + p.kind
		if id, seen := ids[message]; seen && id != p.header || p.header == "" {
			n++
		}
		if other, seen := messages[p.header]; seen && other != message {
			n++
		}
		ids[message], messages[p.header] = p.header, message
	}
	return n
}

// alerting makes an organization with checks of a target, each with a rule that
// notifies a webhook after some failures.
func (s *cluster) alerting(name, target, webhook string, checks int, interval time.Duration, failures int) {
	s.t.Helper()
	config, err := json.Marshal(map[string]string{"url": webhook, "secret": receiverSecret})
	if err != nil {
		s.t.Fatal(err)
	}
	s.withStore(func(store *storage.Store) {
		ctx, org := s.t.Context(), s.createOrganization(store, name)
		channel, err := store.CreateChannel(ctx, vigil.Channel{
			OrgID: org, Name: name, Type: vigil.ChannelWebhook, Config: config, Enabled: true,
		})
		if err != nil {
			s.t.Fatal(err)
		}
		timeout := int(min(2*time.Second, interval) / time.Second)
		for i := range checks {
			check := s.createCheck(store, org, fmt.Sprintf("%s %d", name, i), fmt.Sprintf("%s/%s/%d", target, name, i), timeout, interval)
			if _, err := store.CreateRule(ctx, vigil.Rule{
				OrgID: org, CheckID: check.ID, Name: "down", Condition: vigil.Condition{FailureThreshold: failures}, NotifyOn: vigil.NotifyBoth,
				Policy: vigil.AnyRegion, Enabled: true, Channels: []uuid.UUID{channel.ID},
			}); err != nil {
				s.t.Fatal(err)
			}
		}
	})
}

// load is the CPU time of all processes of the cluster during a span, as a share of
// the machine.
func (s *cluster) load(span time.Duration) float64 {
	s.t.Helper()
	before, began := s.wholeCPU(), time.Now()
	wait(s.t, "a span in which the load is measured", span)
	return (s.wholeCPU() - before).Seconds() / time.Since(began).Seconds() / float64(runtime.NumCPU())
}

// TestDrillHangingWebhook opens many incidents of one organization whose webhook
// accepts requests and never answers, beside an organization whose webhook works.
func TestDrillHangingWebhook(t *testing.T) {
	timingtest.Parallel(t)
	incidents, interval, calmSpan, hangSpan := 100, 5*time.Second, 10*time.Second, 16*time.Second
	if full() {
		incidents, interval, calmSpan, hangSpan = 300, 10*time.Second, 45*time.Second, 90*time.Second
	}
	const good, goodInterval = 20, 2 * time.Second
	site, other := newSwitchable(t), newSwitchable(t)
	hung, works := newHangingReceiver(t), newHangingReceiver(t)
	hung.hangs.Store(true)
	s := newCluster(t, "VIGIL_DELIVERY_SCHEDULE=5s,5s,5s,5s,5s,5s,5s,5s,5s,5s,5s")
	s.seed(newSwitchable(t).URL, good, goodInterval)
	// Two failures, because a single probe may time out on a busy machine.
	s.alerting("hung", site.URL, hung.URL, incidents, interval, 2)
	s.alerting("works", other.URL, works.URL, 1, 2*time.Second, 2)
	eventually(t, "every loop has a result", func() bool {
		return s.number("SELECT count(*) FROM check_regions WHERE last_slot IS NULL") == 0
	})
	eventually(t, "the loops have started", func() bool { return len(s.latest(time.Now().Add(-3*time.Second), 200*time.Millisecond)) == 0 })
	s.began = time.Now().Truncate(time.Microsecond)
	p := notePauses(t)

	calm := s.load(calmSpan)
	site.broken.Store(true)
	const opened = "SELECT count(*) FROM deliveries WHERE channel_name = 'hung'"
	patience := waitLimit + time.Duration(incidents)*400*time.Millisecond // hundreds of incidents at once
	eventuallyWithin(t, patience, "every incident is open", func() bool { return s.number(opened) == incidents })
	eventually(t, "the deliveries wait", func() bool {
		return hung.waiting.Load() == 8 && s.number("SELECT count(*) FROM delivery_places WHERE admitted_at IS NULL") >= incidents-16
	})
	transitions := s.number("SELECT sum(attempts) FROM deliveries")
	hanging := s.load(hangSpan)
	attempts := s.number("SELECT sum(attempts) FROM deliveries") - transitions

	// An incident of the other organization is delivered meanwhile.
	other.broken.Store(true)
	eventually(t, "the other organization is notified", func() bool { return works.summarize().opened == 1 })
	const delivered = "SELECT extract(milliseconds FROM finished_at - created_at)::int FROM deliveries " +
		"WHERE channel_name = 'works' AND status = 'delivered'"
	eventually(t, "its delivery has ended", func() bool { return s.number(delivered) >= 0 })
	latency := time.Duration(s.number(delivered)) * time.Millisecond
	slots := s.audit(time.Now())

	// The recoveries wait behind the openings until the receiver answers.
	site.broken.Store(false)
	eventuallyWithin(t, patience, "every incident is resolved", func() bool { return s.number(opened) == 2*incidents })
	hung.hangs.Store(false)
	const pending = "SELECT count(*) FROM deliveries WHERE channel_name = 'hung' AND status <> 'delivered'"
	answered := time.Now()
	eventuallyWithin(t, patience, "every message is delivered", func() bool { return s.number(pending) == 0 })
	drained := time.Since(answered)

	got := hung.summarize()
	t.Logf("%d incidents on a webhook that hangs: load %.1f %% calm, %.1f %% while %d attempts hung in %v; %s; "+
		"%d messages arrived within %v; %v",
		incidents, 100*calm, 100*hanging, attempts, hangSpan, &slots, got.opened+got.resolved, drained.Round(time.Millisecond), p)
	figure(t, "load beyond calm, % of the machine", math.Round(1000*(hanging-calm))/10, 5, 0)
	figure(t, "worst lateness of a slot", slots.lateness(1), time.Second, p.longest())
	if late := s.latest(s.began, time.Second); len(late) > 0 {
		t.Logf("slots later than a second, or missed:\n%s", strings.Join(late, "\n"))
	}
	figure(t, "another organization's message", latency, time.Second, p.longest())
	figure(t, "requests in flight to the channel", int(hung.most.Load()), 8, 0)
	figure(t, "messages lost", 2*incidents-got.opened-got.resolved, 0, 0)
	figure(t, "messages repeated after they were accepted", got.repeated, 0, 0)
	figure(t, "recoveries before their openings", got.outOfOrder, 0, 0)
	figure(t, "messages with another id, body or signature", hung.differentIDs()+got.changed+got.unsigned, 0, 0)
	if got.opened != incidents || got.resolved != incidents {
		t.Errorf("%d openings and %d recoveries arrived, want %d of each", got.opened, got.resolved, incidents)
	}
	if n := s.number("SELECT count(*) FROM incidents AS i JOIN organizations AS o ON o.id = i.org_id WHERE o.name = 'hung'"); n != incidents {
		t.Errorf("%d incidents, want %d", n, incidents)
	}
	if n := s.number("SELECT count(*) FROM delivery_places"); n != 0 {
		t.Errorf("%d places are taken after every message is delivered", n)
	}
	slots = s.audit(time.Now())
	slots.exact(t)
}

// latest describes the slots since an instant that were later than a bound or missed: of
// which check, how long after that instant, and how late.
func (s *cluster) latest(since time.Time, bound time.Duration) (found []string) {
	s.t.Helper()
	rows, err := s.db.QueryContext(s.t.Context(), `SELECT c.name, extract(epoch FROM l.slot - $1::timestamptz), l.late
		FROM (SELECT check_id, slot, extract(epoch FROM time - slot)::numeric(9, 2) || ' s late' AS late FROM results
				WHERE NOT manual AND slot >= $1 AND time - slot > make_interval(secs => $2)
			UNION ALL SELECT check_id, first_slot, count || ' missed' FROM result_gaps WHERE first_slot >= $1) AS l
		JOIN checks AS c ON c.id = l.check_id ORDER BY l.slot LIMIT 50`, since, bound.Seconds())
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name, late string
		var at float64
		if err := rows.Scan(&name, &at, &late); err != nil {
			s.t.Fatal(err)
		}
		found = append(found, fmt.Sprintf("%s after %.1f s: %s", name, at, late))
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return found
}
