// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	temporal "go.temporal.io/sdk/client"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// awayRegion is a region that no worker serves.
const awayRegion = "ap-northeast-nrt"

// answering is a receiver that answers as a test says, until the test has ended.
type answering struct {
	*httptest.Server
	over chan struct{} // closed at the end of the test
}

// newAnswering returns a receiver that answers openings and their ends by two functions; nil: it hangs.
func newAnswering(t *testing.T, opening, end http.HandlerFunc) *answering {
	t.Helper()
	a := &answering{over: make(chan struct{})}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var envelope struct{ Type string }
		body, err := io.ReadAll(r.Body)
		if err != nil || json.Unmarshal(body, &envelope) != nil {
			return
		}
		by := opening
		if envelope.Type == "incident.resolved" {
			by = end
		}
		if by != nil {
			by(w, r)
			return
		}
		select {
		case <-r.Context().Done():
		case <-a.over:
		}
	}))
	t.Cleanup(a.Close)
	t.Cleanup(func() { close(a.over) }) // first: the server waits for its requests
	return a
}

// with answers with a status.
func with(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

// faulty is a drill on whose way something goes wrong.
type faulty struct {
	t        *testing.T
	api      client
	db       *sql.DB
	temporal temporal.Client

	fault string
	names map[string]string // of channels, by id
	id    string
	asked time.Time
}

// channel makes a channel to an address; fallback may be empty.
func (f *faulty) channel(name, url, fallback string) string {
	body := object{"name": name, "type": "webhook", "config": object{"url": url}}
	if fallback != "" {
		body["fallback_channel_id"] = fallback
	}
	var made struct{ ID string }
	f.api.into(&made, http.MethodPost, "/v1/notification-channels", body)
	f.names[made.ID] = name
	return made.ID
}

// ask asks for the drill. Its time is so long that no slow machine exceeds it.
func (f *faulty) ask(body object) {
	f.t.Helper()
	request := object{"regions": []string{clusterRegion}, "expect_within_seconds": 600}
	maps.Copy(request, body)
	asked := time.Now()
	var made struct{ ID string }
	f.api.into(&made, http.MethodPost, "/v1/drills", request)
	f.id, f.asked = made.ID, asked
}

func (f *faulty) number(query string) (n int) {
	if err := f.db.QueryRowContext(f.t.Context(), query, f.id).Scan(&n); err != nil {
		f.t.Errorf("%s: %v", f.fault, err)
	}
	return n
}

func (f *faulty) exec(query string) {
	if _, err := f.db.ExecContext(f.t.Context(), query, f.id); err != nil {
		f.t.Errorf("%s: %v", f.fault, err)
	}
}

func (f *faulty) await(what string, fact func() bool) {
	f.t.Helper()
	eventuallyWithin(f.t, 3*waitLimit, f.fault+": "+what, fact)
}

// timeOver ends the time of the opening, of a drill whose opening has not arrived, and then that of its
// end.
func (f *faulty) timeOver() {
	f.exec("UPDATE drills SET asked_at = asked_at - interval '601 s' WHERE id = $1")
	f.await("the incident is over", func() bool {
		return f.number(`SELECT count(*) FROM drills WHERE id = $1 AND healed_at IS NOT NULL
			AND NOT EXISTS (SELECT FROM incidents WHERE check_id = $1 AND resolved_at IS NULL)`) == 1
	})
	f.exec("UPDATE drills SET asked_at = asked_at - interval '240 s' WHERE id = $1")
}

// tooLate makes what arrives from now on late. The end has as much time as the opening had.
func (f *faulty) tooLate() { f.exec(timeIsOver) }

const timeIsOver = `UPDATE drills SET request = jsonb_set(request, '{expect_within}',
	to_jsonb((extract(epoch FROM clock_timestamp() - asked_at) * 1e9)::bigint)) WHERE id = $1`

// arrivesLate is tooLate for an opening that something still holds: the drill, which ends what has not arrived, does not
// learn of it before the opening has arrived.
func (f *faulty) arrivesLate(release func()) {
	tx, err := f.db.BeginTx(context.WithoutCancel(f.t.Context()), nil)
	if err == nil {
		_, err = tx.ExecContext(f.t.Context(), timeIsOver, f.id)
	}
	release()
	if err != nil {
		f.t.Fatalf("%s: %v", f.fault, err)
	}
	defer func() { _ = tx.Commit() }()
	f.await("the opening has arrived", func() bool {
		return f.number("SELECT count(*) FROM deliveries WHERE check_id = $1 AND status = 'delivered'") == 1
	})
}

// longer waits until something has taken four seconds more than all that came before it, several times over: the end of the
// drill, which has as much time, takes no longer on a machine that is as busy then. Four seconds are the slots and looks of the end,
// which do not get shorter on a machine that is fast. An attempt has 15 s, so it is never more than twelve.
func (f *faulty) longer(since time.Time, times time.Duration) {
	f.await("it takes the longest", func() bool {
		return time.Since(since) > min(4*time.Second+times*since.Sub(f.asked), 12*time.Second)
	})
}

// hold asks for the drill and keeps its incident from opening until the returned function is called.
func (f *faulty) hold(body object) (release func()) {
	f.t.Helper()
	for range 5 { // a machine that stands still between the two statements would let it open
		f.ask(body)
		f.await("the check is stored", func() bool { return f.number("SELECT count(*) FROM checks WHERE id = $1") == 1 })
		tx, err := f.db.BeginTx(context.WithoutCancel(f.t.Context()), nil)
		if err == nil {
			_, err = tx.ExecContext(f.t.Context(), "SELECT FROM checks WHERE id = $1 FOR NO KEY UPDATE", f.id)
		}
		if err != nil {
			f.t.Fatalf("%s: %v", f.fault, err)
		}
		if f.number("SELECT count(*) FROM incidents WHERE check_id = $1") == 0 {
			return func() { _ = tx.Rollback() }
		}
		_ = tx.Rollback()
		f.api.into(nil, http.MethodPost, "/v1/drills/"+f.id+"/cancel", nil)
		f.close()
	}
	f.t.Fatalf("%s: the incident always opens first", f.fault)
	return nil
}

// close waits for the receipt, and returns each failure as its hop, and its region or channel.
func (f *faulty) close() (verdict string, failures []string) {
	f.t.Helper()
	var answer drillAnswer
	f.await("the drill has a receipt", func() bool {
		f.api.into(&answer, http.MethodGet, "/v1/drills/"+f.id, nil)
		return answer.State == "closed"
	})
	for _, one := range answer.Receipt.Failures {
		at := one.Region
		if one.ChannelID != "" {
			at = f.names[one.ChannelID]
		}
		failures = append(failures, one.Hop+" "+at)
		f.t.Logf("%s: %s %s: %s", f.fault, one.Hop, at, one.Reason)
	}
	return answer.Receipt.Verdict, failures
}

// drillFault is what goes wrong with a drill, and what its receipt must say.
type drillFault struct {
	name string
	lead func(f *faulty)
	want []string
}

// receiverFaults are those of receivers.
func receiverFaults() []drillFault {
	good := with(http.StatusNoContent)
	// failing asks for a drill whose opening never arrives, and ends its time once it was tried.
	failing := func(f *faulty, url string) {
		f.ask(object{"channel_ids": []string{f.channel("ops", url, "")}})
		f.await("the opening is tried", func() bool {
			return f.number("SELECT count(*) FROM attempts AS a JOIN deliveries AS d ON d.id = a.delivery_id WHERE d.check_id = $1") > 0
		})
		f.timeOver()
	}
	return []drillFault{
		{"the receiver answers 500", func(f *faulty) {
			failing(f, newAnswering(f.t, with(http.StatusInternalServerError), good).URL)
		}, []string{"delivered ops"}},
		{"the receiver hangs", func(f *faulty) {
			failing(f, newAnswering(f.t, nil, good).URL)
		}, []string{"delivered ops"}},
		{"the receiver refuses connections", func(f *faulty) {
			failing(f, "http://"+freeAddress(f.t))
		}, []string{"delivered ops"}},
		{"the receiver is gone", func(f *faulty) {
			f.ask(object{"channel_ids": []string{f.channel("ops", newAnswering(f.t, with(http.StatusGone), good).URL, "")}})
		}, []string{"delivered ops"}},
		{"the receiver is gone, and its fallback is not", func(f *faulty) {
			fallback := f.channel("backup", newAnswering(f.t, good, good).URL, "")
			f.ask(object{"channel_ids": []string{f.channel("ops", newAnswering(f.t, with(http.StatusGone), good).URL, fallback)}})
		}, []string{"delivered ops"}},
		{"the receiver and its fallback are gone", func(f *faulty) {
			fallback := f.channel("backup", newAnswering(f.t, with(http.StatusGone), good).URL, "")
			f.ask(object{"channel_ids": []string{f.channel("ops", newAnswering(f.t, with(http.StatusGone), good).URL, fallback)}})
		}, []string{"delivered ops", "fallback_delivered backup"}},
		{"one of two receivers is gone", func(f *faulty) {
			f.ask(object{"channel_ids": []string{
				f.channel("ops", newAnswering(f.t, with(http.StatusGone), good).URL, ""), f.channel("well", newAnswering(f.t, good, good).URL, ""),
			}})
		}, []string{"delivered ops"}},
		{"the receiver refuses the end", func(f *faulty) {
			f.ask(object{"channel_ids": []string{f.channel("ops", newAnswering(f.t, good, with(http.StatusGone)).URL, "")}})
		}, []string{"recovery_delivered ops"}},
		{"the receiver is slow", func(f *faulty) {
			var once sync.Once
			slow := newAnswering(f.t, func(w http.ResponseWriter, _ *http.Request) {
				once.Do(func() { //nolint:contextcheck // that of the test
					f.longer(time.Now(), 2) // an attempt has 15 s
					f.tooLate()
				})
				w.WriteHeader(http.StatusNoContent)
			}, good)
			f.ask(object{"channel_ids": []string{f.channel("ops", slow.URL, "")}})
		}, []string{"delivered ops"}},
	}
}

// platformFaults are those of the platform, and what its people do meanwhile.
func platformFaults() []drillFault {
	good := func(f *faulty) string {
		return newAnswering(f.t, with(http.StatusNoContent), with(http.StatusNoContent)).URL
	}
	applied := func(f *faulty, regions int) {
		f.await("Temporal has accepted the loops", func() bool {
			return f.number("SELECT count(*) FROM check_regions WHERE check_id = $1 AND applied_at IS NOT NULL") == regions
		})
	}
	return []drillFault{
		{"nothing, in two regions", func(f *faulty) {
			f.ask(object{"channel_ids": []string{f.channel("ops", good(f), "")}, "regions": []string{clusterRegion, otherRegion}})
		}, nil},
		{"the workers of the region are away", func(f *faulty) {
			f.ask(object{"channel_ids": []string{f.channel("ops", good(f), "")}, "regions": []string{awayRegion}})
			applied(f, 1)
			f.timeOver()
		}, []string{"probed " + awayRegion}},
		{"the workers of one of two regions are away", func(f *faulty) {
			f.ask(object{"channel_ids": []string{f.channel("ops", good(f), "")}, "regions": []string{clusterRegion, awayRegion}})
			applied(f, 2)
			f.await("the opening has arrived", func() bool {
				return f.number("SELECT count(*) FROM deliveries WHERE check_id = $1 AND status = 'delivered'") == 1
			})
			f.exec(`UPDATE drills SET asked_at = asked_at - interval '300 s', request = jsonb_set(request, '{expect_within}',
				to_jsonb((extract(epoch FROM clock_timestamp() - asked_at) * 1e9)::bigint + 300000000000)) WHERE id = $1`)
		}, []string{"probed " + awayRegion}},
		{"the channel is disabled meanwhile", func(f *faulty) {
			channel := f.channel("ops", good(f), "")
			release := f.hold(object{"channel_ids": []string{channel}})
			defer release()
			f.api.into(nil, http.MethodPut, "/v1/notification-channels/"+channel, object{"enabled": false})
		}, []string{"opened ops"}},
		{"the channel is deleted meanwhile", func(f *faulty) {
			channel := f.channel("ops", good(f), "")
			release := f.hold(object{"channel_ids": []string{channel}})
			defer release()
			f.api.into(nil, http.MethodDelete, "/v1/notification-channels/"+channel+"?force=true", nil)
		}, []string{"opened ops"}},
		{"the subscription is disabled meanwhile", func(f *faulty) {
			var made struct{ ID string }
			f.api.into(&made, http.MethodPost, "/v1/subscriptions", object{
				"name": "all", "channel_id": f.channel("ops", good(f), ""), "events": []string{"incident.*"},
			})
			release := f.hold(object{"subscription_ids": []string{made.ID}})
			defer release()
			f.api.into(nil, http.MethodPut, "/v1/subscriptions/"+made.ID, object{"enabled": false})
		}, []string{"opened ops"}},
		{"a lock delays the incident", func(f *faulty) {
			release := f.hold(object{"channel_ids": []string{f.channel("ops", good(f), "")}})
			defer release()
			f.await("the region votes", func() bool {
				return f.number("SELECT count(*) FROM region_votes WHERE check_id = $1 AND firing <> '{}'") == 1
			})
			f.longer(time.Now(), 6)
			f.arrivesLate(release)
		}, []string{"opened ops"}},
		{"the deliveries of the organization are stopped", func(f *faulty) {
			_, f.api = shared(f.t) // it stops those of its organization
			release := f.hold(object{"channel_ids": []string{f.channel("ops", good(f), "")}})
			tx, err := f.db.BeginTx(context.WithoutCancel(f.t.Context()), nil)
			if err == nil {
				_, err = tx.ExecContext(f.t.Context(), `SELECT pg_advisory_xact_lock(hashtextextended('deliveries/' || org_id, 0))
					FROM drills WHERE id = $1`, f.id)
			}
			release()
			if err != nil {
				f.t.Fatal(err)
			}
			defer func() { _ = tx.Rollback() }()
			f.await("the incident opens", func() bool { return f.number("SELECT count(*) FROM deliveries WHERE check_id = $1") == 1 })
			f.timeOver()
			f.await("the drill is closed", func() bool { return f.number("SELECT count(*) FROM drills WHERE id = $1 AND state = 'closed'") == 1 })
		}, []string{"first_attempt ops"}},
		{"the workflow of the drill is terminated", func(f *faulty) {
			release := f.hold(object{"channel_ids": []string{f.channel("ops", good(f), "")}})
			if err := f.temporal.TerminateWorkflow(f.t.Context(), "drill/"+f.id, "", "by hand"); err != nil {
				f.t.Errorf("%s: %v", f.fault, err)
			}
			release()
			f.await("it goes on", func() bool { // the activity that runs goes on for a while, and leaves traces
				f.exec("UPDATE drills SET progress_at = progress_at - interval '31 s' WHERE id = $1 AND state <> 'closed'")
				return f.number("SELECT count(*) FROM drills WHERE id = $1 AND state = 'closed'") == 1
			})
		}, nil},
	}
}

// TestDrillFaults makes faults on the way of drills: each receipt names the hop, the region and the
// channel of its fault, and no other ones.
func TestDrillFaults(t *testing.T) {
	timingtest.Parallel(t)
	p, api := shared(t)
	db := openDatabase(t, common.dsn(t))
	db.SetMaxOpenConns(64) // the faults hold up to two transactions each, and a look must not wait for them
	c := dialTemporal(t, p.ready.TemporalAddress, p.ready.Namespace)
	t.Cleanup(c.Close)
	faults := slices.Concat(receiverFaults(), platformFaults())
	var running sync.WaitGroup
	var mu sync.Mutex
	wrong := 0 // receipts
	for _, fault := range faults {
		running.Go(func() {
			f := &faulty{t: t, api: api, db: db, temporal: c, fault: fault.name, names: map[string]string{}}
			fault.lead(f)
			verdict, got := f.close()
			if slices.Equal(got, fault.want) && (verdict == "passed") == (len(fault.want) == 0) {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			wrong++
			t.Errorf("%s: the drill has %s and names %q, want %q", fault.name, verdict, got, fault.want)
		})
	}
	running.Wait()
	figure(t, fmt.Sprintf("receipts that name a wrong hop, of %d faults", len(faults)), wrong, 0, 0)
}
