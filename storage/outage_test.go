// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

func TestDatabaseOutage(t *testing.T) {
	t.Parallel()
	cluster := storagetest.StartCluster(t, "max_connections=40")
	s := storagetest.Open(t, cluster.DSN("postgres"))
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark, frankfurt))
	w := newWriter(t, s, storage.WriterOptions{})
	write(t, w, ok(c, newark, epoch()))

	// Rows are written all the time: while the server is killed, while it is stopped, and
	// while its connections are terminated.
	stop := make(chan struct{})
	var mu sync.Mutex
	acknowledged := 0
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				slot := epoch().Add(time.Hour + time.Duration(n*8+i)*time.Second)
				if _, err := w.Write(t.Context(), vigil.ResultRow{Result: ok(c, newark, slot)}); err != nil {
					t.Errorf("a write failed: %v", err)
					return
				}
				mu.Lock()
				acknowledged++
				mu.Unlock()
			}
		})
	}
	done := func() int {
		mu.Lock()
		defer mu.Unlock()
		return acknowledged
	}
	progress := func(fact string) {
		t.Helper()
		from := done()
		eventually(t, fact, func() bool { return done() > from+100 })
	}
	progress("rows are stored")
	cluster.Stop(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := w.Write(ctx, vigil.ResultRow{Result: ok(c, frankfurt, epoch())}); err == nil || ctx.Err() == nil {
		t.Errorf("a write ended before its context while the database was unavailable: %v", err)
	}
	if err := s.Ready(t.Context()); vigil.ErrorCode(err) != vigil.CodeUnavailable {
		t.Errorf("ready without a database: %v", err)
	}
	_, err := s.Check(t.Context(), org.ID, c.ID)
	wantCode(t, err, vigil.CodeUnavailable)
	cluster.Start(t)
	progress("rows are stored after a crash of the server")
	admin := storagetest.Open(t, cluster.DSN("postgres"))
	for range 5 {
		const terminate = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'`
		if _, err := admin.DB().ExecContext(t.Context(), terminate); err != nil {
			t.Fatal(err)
		}
		progress("rows are stored after connections were cut")
	}
	close(stop)
	wg.Wait()

	// Every acknowledged row is stored, and none is counted twice.
	stored := count(t, s, "SELECT count(*) FROM results WHERE slot > ?", epoch())
	if stored != int64(acknowledged) {
		t.Errorf("%d rows for %d acknowledged", stored, acknowledged)
	}
	if rolled := count(t, s, "SELECT sum(total) FROM result_rollups WHERE hour > ?", epoch()); rolled != stored {
		t.Errorf("the rollups count %d of %d", rolled, stored)
	}
	schedule := scheduleOf(t, s, c, newark)
	loop := loopOf(t, s, c, newark)
	onGrid := 0
	for _, slot := range slotsOf(schedule, epoch(), loop.LastSlot.Add(1)) {
		onGrid += int(count(t, s, "SELECT count(*) FROM results WHERE check_id = ? AND region = ? AND slot = ?", c.ID, newark, slot))
	}
	// Not those since then, which a loop that is read counts, too.
	missed := count(t, s, "SELECT missed FROM check_regions WHERE check_id = ? AND region = ?", c.ID, newark)
	if want := schedule.Count(epoch(), loop.LastSlot.Add(1)); int64(onGrid)+missed != want {
		t.Errorf("%d results and %d missed of %d slots", onGrid, missed, want)
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]string{
		"no server":         "postgres://user:tiger@127.0.0.1:1/db?connect_timeout=2",
		"not an address":    "postgres://user:tiger@127.0.0.1:nope/db",
		"no such directory": "postgres://user:tiger@/db?host=/nowhere",
	} {
		_, err := storage.Open(t.Context(), dsn, storage.Options{})
		if err == nil {
			t.Errorf("%s: it opened", name)
			continue
		}
		if msg := err.Error(); len(msg) < 10 || strings.Contains(msg, "tiger") {
			t.Errorf("%s: %s", name, msg)
		}
	}
}
