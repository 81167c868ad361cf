// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"net"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// TestDrillResultsApart kills workers while results are stored in a database of their own, and stops that database: probing goes on,
// and over both databases every slot has one result or is missed.
func TestDrillResultsApart(t *testing.T) {
	timingtest.Parallel(t)
	const checks = 20
	kills := 6
	if full() {
		kills = 40
	}
	address := freeAddress(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	apart := storagetest.StartCluster(t, "listen_addresses=127.0.0.1", "port="+port, "fsync=off")
	dsn := "postgres://postgres@" + address + "/postgres?sslmode=disable"
	s := newCluster(t, "VIGIL_RESULTS_DATABASE_URL_EU_CENTRAL_FRA="+dsn)
	s.apart = openDatabase(t, dsn)
	site := newSwitchable(t)
	s.seed(site.URL, checks, time.Second)
	if n := s.number("SELECT count(*) FROM results"); n != 0 {
		t.Errorf("%d results are with the definitions", n)
	}
	kill := func(i int) {
		s.workers[i].kill()
		s.startWorker(i)
		s.awaitWorkers()
	}
	for i := range kills {
		kill(i % len(s.workers))
		s.awaitResults(time.Now())
	}

	apart.Stop(t)
	eventually(t, "results are kept with the definitions", func() bool { return s.number("SELECT count(*) FROM results") > 2*checks })
	kill(0)
	s.awaitResults(time.Now())
	apart.Start(t)
	kept := s.number("SELECT count(*) FROM results")
	eventually(t, "no more results are kept with the definitions", func() bool {
		before := kept
		kept = s.number("SELECT count(*) FROM results")
		s.awaitResults(time.Now())
		return kept == before
	})

	l := s.audit(time.Now())
	t.Logf("%d kills, and the database of results away, of whose results %d were kept elsewhere: %s", kills+1, kept, &l)
	l.exact(t)
	if l.stored < checks*kills || l.stored-kept < checks {
		t.Errorf("%d results, %d of them kept with the definitions", l.stored, kept)
	}
}
