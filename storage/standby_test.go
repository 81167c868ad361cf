// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// followed is a database with a hot standby, on servers of their own.
type followed struct {
	servers [2]*storagetest.Cluster // the primary and its standby
	store   *storage.Store
	standby *storage.Standby
	clock   *clock
	org     account.Organization
}

// newFollowed starts a database and its standby, with settings of their servers.
func newFollowed(t *testing.T, settings ...string) *followed {
	t.Helper()
	f := &followed{clock: timingtest.NewClock(epoch())}
	f.servers[0] = storagetest.StartCluster(t, append(settings, "fsync=off")...)
	f.store = storagetest.Open(t, f.servers[0].DSN("postgres"))
	if _, err := f.store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.servers[1] = f.servers[0].StartStandby(t)
	f.standby = f.open(t, f.servers[1].DSN("postgres"))
	f.org, _ = newOrg(t, f.store)
	return f
}

// open opens a copy of the database.
func (f *followed) open(t *testing.T, dsn string) *storage.Standby {
	t.Helper()
	s, err := storage.OpenStandby(t.Context(), dsn, f.store, storage.Options{Keys: storagetest.Keys(t), Now: f.clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// addressOfBoth leads to the standby, and to the primary where that does not answer.
func (f *followed) addressOfBoth(t *testing.T) string {
	t.Helper()
	address, err := url.Parse(f.servers[0].DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	other, err := url.Parse(f.servers[1].DSN("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	query := address.Query()
	query.Set("host", query.Get("host")+","+other.Query().Get("host"))
	query.Set("port", "5432,5432")
	query.Set("target_session_attrs", "prefer-standby")
	address.RawQuery = query.Encode()
	return address.String()
}

// later lets the time pass for which a server that did not answer is left alone.
func (f *followed) later() { f.clock.Advance(time.Minute) }

// replays lets the standby follow, or stops it.
func (f *followed) replays(t *testing.T, follows bool) {
	t.Helper()
	call := map[bool]string{true: "pg_wal_replay_resume", false: "pg_wal_replay_pause"}[follows]
	if _, err := f.standby.DB().NewRaw("SELECT " + call + "()").Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	if follows {
		return
	}
	eventually(t, "the standby does not follow", func() bool { // the pause is only asked for
		var state string
		err := f.standby.DB().NewRaw("SELECT pg_get_wal_replay_pause_state()").Scan(t.Context(), &state)
		return err == nil && state == "paused"
	})
}

// receives waits until the standby has the log of the primary, of which a crash loses what was not sent.
func (f *followed) receives(t *testing.T) {
	t.Helper()
	var end string
	if err := f.store.DB().NewRaw("SELECT pg_current_wal_lsn()::text").Scan(t.Context(), &end); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the standby has received the log", func() bool {
		var received bool
		err := f.standby.DB().NewRaw("SELECT pg_last_wal_receive_lsn() >= ?::pg_lsn", end).Scan(t.Context(), &received)
		return err == nil && received
	})
}

// TestReadsFollowWrites holds that what was written before a read is seen by it: the standby is read only once it has that.
func TestReadsFollowWrites(t *testing.T) {
	t.Parallel()
	f := newFollowed(t)
	fromStandby := 0
	for range 200 {
		c := newCheck(t, f.store, draft(f.org.ID, newark))
		if choice := f.standby.Choose(t.Context()); !choice.Standby {
			continue // it has not caught up within its time, on a busy machine
		}
		fromStandby++
		if _, err := f.standby.Check(t.Context(), f.org.ID, c.ID); err != nil {
			t.Fatalf("a check that was created before: %v", err)
		}
	}
	if fromStandby == 0 {
		t.Error("no read was made from the standby")
	}

	f.replays(t, false)
	c := newCheck(t, f.store, draft(f.org.ID, newark))
	if choice := f.standby.Choose(t.Context()); choice != (storage.Reading{}) {
		t.Errorf("%+v, want the primary while the standby lacks a write", choice)
	}
	f.replays(t, true)
	eventually(t, "the standby is read again", func() bool { return f.standby.Choose(t.Context()) == storage.Reading{Standby: true} })
	if _, err := f.standby.Check(t.Context(), f.org.ID, c.ID); err != nil {
		t.Error(err)
	}
	_, err := f.standby.CreateCheck(t.Context(), draft(f.org.ID, newark), unlimited(), account.Allowance{})
	wantCode(t, err, vigil.CodeUnavailable)
}

// TestReadsWithoutPrimary holds that the standby is read while the primary is away, with the time since which it may lack
// something, and that a standby which is away is no reason for an error.
func TestReadsWithoutPrimary(t *testing.T) {
	t.Parallel()
	f := newFollowed(t)
	before := time.Now()
	c := newCheck(t, f.store, draft(f.org.ID, newark))
	eventually(t, "the standby has the check", func() bool {
		_, err := f.standby.Check(t.Context(), f.org.ID, c.ID)
		return err == nil
	})
	f.servers[0].Stop(t)
	choice := f.standby.Choose(t.Context())
	if !choice.Standby || !choice.Alone || choice.AsOf.Before(before.Add(-time.Second)) || choice.AsOf.After(time.Now()) {
		t.Errorf("%+v, want the standby alone, as of the last write, after %s", choice, before)
	}
	f.servers[0].Start(t)
	f.later()
	eventually(t, "the primary counts again", func() bool { return !f.standby.Choose(t.Context()).Alone })

	f.servers[1].Stop(t)
	f.later()
	if choice := f.standby.Choose(t.Context()); choice != (storage.Reading{}) {
		t.Errorf("%+v without a standby, want the primary", choice)
	}
	late := f.open(t, f.servers[1].DSN("postgres"))
	if choice := late.Choose(t.Context()); choice != (storage.Reading{}) {
		t.Errorf("%+v from a standby that was away when it was opened, want the primary", choice)
	}
	f.servers[1].Start(t)
	f.later()
	eventually(t, "the standby that came late is read", func() bool {
		f.later()
		return late.Choose(t.Context()).Standby
	})
	if _, err := late.Check(t.Context(), f.org.ID, c.ID); err != nil {
		t.Error(err)
	}
}

// TestStandbyFarBehind holds that a standby which lacks more than a minute of what the primary had is not read alone.
func TestStandbyFarBehind(t *testing.T) {
	t.Parallel()
	f := newFollowed(t)
	f.replays(t, false)
	newCheck(t, f.store, draft(f.org.ID, newark))
	f.clock.Set(time.Now().Add(2 * time.Minute)) // the primary answers then, and the standby has nothing newer than now
	if choice := f.standby.Choose(t.Context()); choice != (storage.Reading{}) {
		t.Errorf("%+v, want the primary while the standby lacks a write", choice)
	}
	f.receives(t)
	f.servers[0].Stop(t)
	f.later()
	if choice := f.standby.Choose(t.Context()); choice != (storage.Reading{}) {
		t.Errorf("%+v of a standby that is minutes behind, want the primary", choice)
	}
	f.replays(t, true)
	eventually(t, "the standby has all that the primary had", func() bool {
		f.later()
		return f.standby.Choose(t.Context()).Alone
	})
}

// TestStandbyOfSeveralServers holds that all reads go to the server that was asked how far it is, where an address leads to
// several.
func TestStandbyOfSeveralServers(t *testing.T) {
	t.Parallel()
	f := newFollowed(t)
	f.servers[1].Stop(t)
	both := f.open(t, f.addressOfBoth(t))
	// reads makes some reads at a time, each on a connection of its own, and counts where they were made.
	reads := func(atOnce int) (onStandby, onPrimary, refused int) {
		t.Helper()
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range atOnce {
			wg.Go(func() {
				var recovers bool
				err := both.DB().NewRaw("SELECT pg_is_in_recovery() FROM pg_sleep(0.2)").Scan(t.Context(), &recovers)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err != nil:
					refused++
				case recovers:
					onStandby++
				default:
					onPrimary++
				}
			})
		}
		wg.Wait()
		return onStandby, onPrimary, refused
	}
	if choice := both.Choose(t.Context()); choice != (storage.Reading{Standby: true}) {
		t.Fatalf("%+v, want the address of both, which leads to the primary", choice)
	}
	if onStandby, onPrimary, _ := reads(4); onPrimary == 0 || onStandby > 0 {
		t.Fatalf("%d reads on the standby, which is stopped, and %d on the primary", onStandby, onPrimary)
	}
	f.servers[1].Start(t)
	eventually(t, "new connections lead to the standby, and are refused", func() bool {
		onStandby, _, refused := reads(12)
		if onStandby > 0 {
			t.Fatalf("%d reads on the standby, of which nothing is known", onStandby)
		}
		return refused > 0
	})
	eventually(t, "all reads go to the standby", func() bool {
		f.later()
		if !both.Choose(t.Context()).Standby {
			return false
		}
		onStandby, onPrimary, refused := reads(4)
		return onStandby > 0 && onPrimary == 0 && refused == 0
	})
}

// TestReadsLookForAStandby holds that reads go to a standby that comes later than its address, of which the primary is a part.
func TestReadsLookForAStandby(t *testing.T) {
	t.Parallel()
	f := newFollowed(t)
	f.servers[1].Stop(t)
	both := f.open(t, f.addressOfBoth(t))
	if choice := both.Choose(t.Context()); choice != (storage.Reading{Standby: true}) {
		t.Fatalf("%+v, want the address of both, which leads to the primary", choice)
	}
	f.servers[1].Start(t)
	eventually(t, "reads go to the standby", func() bool {
		f.later()
		var recovers bool
		err := both.DB().NewRaw("SELECT pg_is_in_recovery()").Scan(t.Context(), &recovers)
		return both.Choose(t.Context()).Standby && err == nil && recovers
	})
}

// TestReadsAfterPromotion holds that a standby that became the primary is read as of now, while what was the primary is away.
func TestReadsAfterPromotion(t *testing.T) {
	t.Parallel()
	f := newFollowed(t)
	c := newCheck(t, f.store, draft(f.org.ID, newark))
	eventually(t, "the standby has the check", func() bool {
		_, err := f.standby.Check(t.Context(), f.org.ID, c.ID)
		return err == nil
	})
	f.servers[0].Stop(t)
	f.servers[1].Promote(t)
	f.later()
	promoted := time.Now()
	if choice := f.standby.Choose(t.Context()); !choice.Alone || choice.AsOf.Before(promoted.Add(-time.Second)) {
		t.Errorf("%+v, want the new primary as of now", choice)
	}
}

// TestStandbyOfAnotherDatabase holds that another database is refused, and an address that cannot be read.
func TestStandbyOfAnotherDatabase(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	other := storagetest.DSN(t)
	_, err := storage.OpenStandby(t.Context(), other, s, storage.Options{})
	if err == nil || !strings.Contains(err.Error(), "no copy") {
		t.Errorf("%v, want that it is no copy", err)
	}
	if _, err := storage.OpenStandby(t.Context(), "postgres://%zz", s, storage.Options{}); err == nil {
		t.Error("an address that cannot be read was accepted")
	}
}

// TestChoicesAreShared holds that any number of reads asks each database one question at a time.
func TestChoicesAreShared(t *testing.T) {
	t.Parallel()
	f := newFollowed(t, "log_statement=all")
	const readers = 2000
	var wg sync.WaitGroup
	for range readers {
		wg.Go(func() { f.standby.Choose(t.Context()) })
	}
	wg.Wait()
	asked := strings.Count(f.servers[0].Log(t), "pg_current_wal_flush_lsn")
	if asked == 0 || asked > readers/4 {
		t.Errorf("%d questions for %d reads at the same time", asked, readers)
	}
}

// TestChoiceEndsWithItsCaller holds that a caller who is gone makes no server count as away.
func TestChoiceEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	f := newFollowed(t)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if choice := f.standby.Choose(gone); choice != (storage.Reading{}) {
		t.Errorf("%+v for a caller who is gone", choice)
	}
	eventually(t, "the standby is read", func() bool { return f.standby.Choose(t.Context()) == storage.Reading{Standby: true} })
}
