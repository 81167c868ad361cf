// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/backtest"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// newApart returns a store whose results are in two databases of their own: those of Frankfurt in one, all others in another.
func newApart(tb testing.TB) (*storage.Store, *clock) {
	tb.Helper()
	dsn, c := storagetest.DSN(tb), timingtest.NewClock(epoch())
	return storagetest.Open(tb, dsn, withResults(c, storagetest.ResultsDSN(tb), storagetest.ResultsDSN(tb))), c
}

// withResults are the options of a store with databases for all results and for those of Frankfurt.
func withResults(c *clock, all, ofFrankfurt string) func(*storage.Options) {
	return func(o *storage.Options) {
		o.Now, o.Results = c.Now, []storage.ResultsDatabase{{DSN: all}, {Region: frankfurt, DSN: ofFrankfurt}}
	}
}

// resultsIn counts the results and what the rollups count in each database of a store.
func resultsIn(tb testing.TB, s *storage.Store) (list [][2]int) {
	tb.Helper()
	for _, db := range s.ResultDBs() {
		var n [2]int
		err := db.NewRaw("SELECT (SELECT count(*) FROM results), (SELECT coalesce(sum(total + excluded), 0)::bigint FROM result_rollups)").
			Scan(tb.Context(), &n[0], &n[1])
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, n)
	}
	return list
}

// TestReadsOverAllResults: what is read of results in three databases is what is read of the same results in one.
func TestReadsOverAllResults(t *testing.T) {
	t.Parallel()
	type fixture struct {
		s *storage.Store
		c vigil.Check
		w *storage.ResultWriter
		k *clock
	}
	var both [2]fixture
	for i := range both {
		f := &both[i]
		if f.s, f.k = newStore(t); i == 1 {
			f.s, f.k = newApart(t)
		}
		org, _ := newOrg(t, f.s)
		check := draft(org.ID, newark, frankfurt, singapore)
		check.ID, check.Interval = uuid.MustParse("6d3f0d5e-9a4b-4f63-8a1c-0d3a4c1f2b11"), 10*time.Second
		f.c, f.w = newCheck(t, f.s, check), newWriter(t, f.s, storage.WriterOptions{})
	}
	slots := scheduleOf(t, both[0].s, both[0].c, newark)
	id := byte(0)
	for n, slot := range slotsOf(slots, epoch(), epoch().Add(3*time.Hour)) {
		for m, region := range []string{newark, frankfurt, singapore} {
			if n%97 == m || n%20 != 0 && n%7 != 0 { // some are missed
				continue
			}
			id++
			for i := range both {
				f := &both[i]
				r := ok(f.c, region, slot)
				if n%5 == m {
					r = failed(f.c, region, slot)
				}
				r.ID, r.ResponseTime = uuid.NewSHA1(uuid.Nil, []byte{id, byte(n), byte(n >> 8)}), time.Duration(n%300+m)*time.Millisecond
				row := vigil.ResultRow{Result: r, Worker: "w", Deadline: 5 * time.Second, Excluded: n%60 == 0}
				if _, err := f.w.Write(t.Context(), row); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if in := resultsIn(t, both[1].s); in[0] != [2]int{} || in[1][0] == 0 || in[2][0] == 0 || in[1][0] != in[1][1] || in[2][0] != in[2][1] {
		t.Fatalf("results and what rollups count: %v; want none in the first database, and some in the others", in)
	}
	for i := range both {
		both[i].k.Set(epoch().Add(3 * time.Hour))
	}
	day := epoch().Truncate(24 * time.Hour)
	for name, read := range map[string]func(f *fixture) (any, error){
		"Latest": func(f *fixture) (any, error) { return f.s.LatestResults(t.Context(), f.c.ID, frankfurt, 20) },
		"After": func(f *fixture) (any, error) {
			return f.s.ResultsAfter(t.Context(), f.c.ID, newark, epoch().Add(time.Hour), 20)
		},
		"Uptime": func(f *fixture) (any, error) {
			return f.s.Uptime(t.Context(), f.c.OrgID, f.c.ID, 24*time.Hour, false)
		},
		"UptimeOfAWeek": func(f *fixture) (any, error) {
			return f.s.Uptime(t.Context(), f.c.OrgID, f.c.ID, 7*24*time.Hour, true)
		},
		"UptimeBetween": func(f *fixture) (any, error) {
			span := overview.Span{From: epoch().Add(17 * time.Minute), To: epoch().Add(170 * time.Minute), Zone: time.UTC}
			return f.s.UptimeBetween(t.Context(), f.c.OrgID, f.c.ID, span, true)
		},
		"UptimeDays": func(f *fixture) (any, error) { return f.s.UptimeDays(t.Context(), f.c.OrgID, f.c.ID, 3) },
		"Series": func(f *fixture) (any, error) {
			return f.s.Series(t.Context(), f.c.OrgID, f.c.ID, overview.SeriesQuery{Period: 6 * time.Hour, Statistic: overview.P95})
		},
		"SeriesOfAMonth": func(f *fixture) (any, error) {
			return f.s.Series(t.Context(), f.c.OrgID, f.c.ID, overview.SeriesQuery{Period: 30 * 24 * time.Hour, Statistic: overview.P95})
		},
		"Summaries": func(f *fixture) (any, error) {
			return f.s.Summaries(t.Context(), f.c.OrgID, []uuid.UUID{f.c.ID})
		},
		"StatusDays": func(f *fixture) (any, error) {
			return f.s.StatusDays(t.Context(), []uuid.UUID{f.c.ID}, day, day.AddDate(0, 0, 1))
		},
		"Extent": func(f *fixture) (any, error) {
			return f.s.ReplayExtent(t.Context(), f.c.OrgID, f.c.ID, epoch(), epoch().Add(2*time.Hour))
		},
		"Replay": func(f *fixture) (any, error) {
			var rows []backtest.Row
			from, to := epoch().Add(time.Hour), epoch().Add(2*time.Hour)
			for row, err := range f.s.ReplayResults(t.Context(), f.c.ID, []string{newark, frankfurt}, from, to, 5) {
				if err != nil {
					return nil, err
				}
				rows = append(rows, row)
			}
			return rows, nil
		},
		"StateBefore": func(f *fixture) (any, error) {
			return f.s.StateBefore(t.Context(), vigil.PastQuery{
				CheckID: f.c.ID, Region: frankfurt, From: epoch(), Before: epoch().Add(2 * time.Hour), Failures: true,
			})
		},
		"Page": func(f *fixture) (any, error) { return listAll(t.Context(), f.s, f.c, 17, 0) },
		"PageAtOffset": func(f *fixture) (any, error) {
			list, _, err := f.s.Results(t.Context(), f.c.OrgID, f.c.ID, listing.ResultFilter{Page: listing.Page{Limit: 11, Offset: 90}})
			return list, err
		},
	} {
		one, err := read(&both[0])
		if err != nil {
			t.Fatalf("%s in one database: %v", name, err)
		}
		three, err := read(&both[1])
		if err != nil {
			t.Fatalf("%s over all: %v", name, err)
		}
		if !reflect.DeepEqual(withoutTimes(one), withoutTimes(three)) {
			t.Errorf("%s\nover all        %+v\nin one database %+v", name, three, one)
		}
	}
}

// withoutTimes clears what differs between two checks of one definition: when they were created.
func withoutTimes(v any) any {
	if extent, is := v.(backtest.ReplayExtent); is {
		extent.Changed = time.Time{}
		return extent
	}
	return v
}

// listAll returns all results of a check by pages.
func listAll(ctx context.Context, s *storage.Store, c vigil.Check, limit, most int) (all []vigil.Result, err error) {
	f := listing.ResultFilter{Page: listing.Page{Limit: limit}}
	for {
		list, extent, err := s.Results(ctx, c.OrgID, c.ID, f)
		if all = append(all, list...); err != nil || extent.Next == nil || most > 0 && len(all) >= most {
			return all, err
		}
		f.After = extent.Next
	}
}

// TestResultsBeforeTheirLoop: a result whose loop could not be written in the second transaction is stored once, and its loop takes it
// later: from the writer that comes next, or from a look for such results.
func TestResultsBeforeTheirLoop(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"NextWriter", "Look"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			s, _ := newApart(t)
			org, _ := newOrg(t, s)
			c := newCheck(t, s, draft(org.ID, frankfurt))
			slots := slotsOf(scheduleOf(t, s, c, frankfurt), epoch(), epoch().Add(time.Minute))
			refuse := func(on bool) {
				t.Helper()
				statement := `DROP TRIGGER refuse ON check_regions`
				if on {
					statement = `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused' USING ERRCODE = '57P01'; END $$;
						CREATE TRIGGER refuse BEFORE UPDATE ON check_regions FOR EACH ROW EXECUTE FUNCTION refuse()`
				}
				if _, err := s.DB().ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			refuse(true)
			stopped := storage.NewResultWriter(s, storage.WriterOptions{Delay: time.Millisecond})
			ctx, stop := context.WithCancel(t.Context())
			ran := make(chan error, 1)
			go func() { ran <- stopped.Run(ctx) }()
			written := make(chan error, 1)
			go func() {
				_, err := stopped.Write(ctx, vigil.ResultRow{Result: failed(c, frankfurt, slots[1])})
				written <- err
			}()
			eventually(t, "the result is stored without its loop", func() bool {
				return count(t, s, "SELECT count(*) FROM uncounted_results") == 1
			})
			stop()
			if err := <-written; err == nil {
				t.Error("the write succeeded although its loop was refused")
			}
			if err := <-ran; err != nil {
				t.Error(err)
			}
			if loop := loopOf(t, s, c, frankfurt); !loop.LastSlot.IsZero() {
				t.Fatalf("the loop knows %v", loop.LastSlot)
			}
			refuse(false)

			want := 1
			if way == "Look" {
				changeResultsApart(t, s, "UPDATE uncounted_results SET stored_at = stored_at - interval '1 minute'")
				if left, err := s.CountResults(t.Context()); err != nil || left {
					t.Fatalf("left %v, %v", left, err)
				}
			} else {
				w := newWriter(t, s, storage.WriterOptions{})
				again, err := w.Write(t.Context(), vigil.ResultRow{Result: ok(c, frankfurt, slots[1]), Worker: "w1"})
				if err != nil || again.Inserted || again.Result.Success {
					t.Errorf("the slot again: %+v, %v; want the failure that is stored", again, err)
				}
				write(t, w, ok(c, frankfurt, slots[2]), ok(c, frankfurt, slots[3]))
				want = 3
			}
			if in := resultsIn(t, s); in[0] != [2]int{} || in[2] != [2]int{want, want} {
				t.Errorf("results and what rollups count: %v", in)
			}
			equal(t, gapSlots(t, s, c, frankfurt), slots[:1])
			if loop := loopOf(t, s, c, frankfurt); loop.Missed != 1 || !loop.LastSlot.Equal(slots[want]) {
				t.Errorf("the loop knows %v, and %d missed", loop.LastSlot, loop.Missed)
			}
		})
	}
}

// changeResultsApart runs a statement on the databases that keep results alone.
func changeResultsApart(tb testing.TB, s *storage.Store, statement string) {
	tb.Helper()
	for _, db := range s.ResultDBs()[1:] {
		if _, err := db.ExecContext(tb.Context(), statement); err != nil {
			tb.Fatal(err)
		}
	}
}

// TestResultsWhileTheirDatabaseIsAway: they are stored with the definitions meanwhile, each slot once, and all are read afterwards.
func TestResultsWhileTheirDatabaseIsAway(t *testing.T) {
	t.Parallel()
	cluster := storagetest.StartCluster(t, "fsync=off")
	k := timingtest.NewClock(epoch())
	s := storagetest.Open(t, storagetest.DSN(t), withResults(k, storagetest.ResultsDSN(t), cluster.DSN("postgres")))
	if _, err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.EnsurePartitions(t.Context(), epoch()); err != nil {
		t.Fatal(err)
	}
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark, frankfurt))
	w := newWriter(t, s, storage.WriterOptions{})
	slots := slotsOf(scheduleOf(t, s, c, frankfurt), epoch(), epoch().Add(2*time.Minute))
	write(t, w, ok(c, frankfurt, slots[0]), ok(c, frankfurt, slots[2]), ok(c, newark, epoch()))

	cluster.Stop(t)
	write(t, w, failed(c, frankfurt, slots[3]), ok(c, frankfurt, slots[5]))
	again, err := w.Write(t.Context(), vigil.ResultRow{Result: failed(c, frankfurt, slots[2]), Worker: "w1"})
	if err != nil || again.Inserted {
		t.Errorf("a slot that is stored in the database that is away: %+v, %v", again, err)
	}
	late, err := w.Write(t.Context(), vigil.ResultRow{Result: ok(c, frankfurt, slots[1]), Worker: "w1"})
	if err != nil || !late.Inserted {
		t.Errorf("a slot that was missed: %+v, %v", late, err)
	}
	ctx, missing := storage.WithMissing(t.Context())
	list, _, err := s.Results(ctx, c.OrgID, c.ID, listing.ResultFilter{Page: listing.Page{Limit: 50}})
	if err != nil || len(list) != 4 {
		t.Errorf("%d results, %v; want the three of the time and that of Newark", len(list), err)
	}
	if got := missing.Regions(); !slices.Equal(got, []string{frankfurt}) {
		t.Errorf("missing: %v", got)
	}
	if _, err := s.Uptime(t.Context(), c.OrgID, c.ID, time.Hour, false); err != nil {
		t.Error(err)
	}

	cluster.Start(t)
	eventually(t, "results go to their database again", func() bool {
		k.Advance(time.Second)
		manual := ok(c, frankfurt, k.Now())
		manual.Manual = true
		write(t, w, manual)
		var n int
		return s.ResultDBs()[2].NewRaw("SELECT count(*) FROM results").Scan(t.Context(), &n) == nil && n > 2
	})
	again, err = w.Write(t.Context(), vigil.ResultRow{Result: ok(c, frankfurt, slots[3]), Worker: "w1"})
	if err != nil || again.Inserted || again.Result.Success {
		t.Errorf("a slot that was stored meanwhile: %+v, %v; want the failure", again, err)
	}
	write(t, w, ok(c, frankfurt, slots[6]))
	if n := count(t, s, "SELECT count(*) FROM results WHERE region = ? AND NOT manual", frankfurt); n != 6 {
		t.Errorf("%d results of slots, want 6", n)
	}
	equal(t, gapSlots(t, s, c, frankfurt), []time.Time{slots[4]})
	after, err := s.LatestResults(t.Context(), c.ID, frankfurt, 100)
	if err != nil {
		t.Fatal(err)
	}
	var read []time.Time
	for _, r := range after {
		if !r.Manual {
			read = append(read, r.Slot)
		}
	}
	equal(t, read, []time.Time{slots[0], slots[1], slots[2], slots[3], slots[5], slots[6]})
}

// TestDatabaseOfDefinitionsKeepsNoResultsAlone: it is refused as a database of results.
func TestDatabaseOfDefinitionsKeepsNoResultsAlone(t *testing.T) {
	t.Parallel()
	dsn := storagetest.DSN(t)
	s, err := storage.Open(t.Context(), dsn, storage.Options{Results: []storage.ResultsDatabase{{Region: newark, DSN: dsn}}})
	if err == nil {
		_ = s.Close()
	}
	wantCode(t, err, vigil.CodeConflict)
}

// TestSuiteWithResultsApart runs tests of what the platform does all the time once more, with the results of every store in databases
// of their own.
func TestSuiteWithResultsApart(t *testing.T) {
	t.Parallel()
	if os.Getenv("VIGIL_TEST_RESULTS") != "" || os.Getenv("VIGIL_TEST_POOLER") != "" || testing.Short() {
		t.Skip("this is the second run, or a short one")
	}
	const tests = "^(TestResultsOfAWorkerThatLostTheLoop|TestEverySlotIsAResultOrMissed|TestEvidence.*|TestConcurrentWriters|TestGaps|" +
		"TestDropExpired|TestSeries.*|TestStateBefore.*|TestUptimeC.*|TestUptimeL.*|TestUptimeW.*|TestOpenIncident.*|TestTrigger|" +
		"TestResultWriter.*|TestSummar.*|TestReport.*|TestReplay.*|TestChangedMaintenance.*|TestStatus.*|" +
		"TestDeleteCheck.*|TestPurge.*|TestCheckFigures.*|TestList.*|TestDrill.*|TestLate.*|TestTombstones)$"
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", tests, "-test.v", "-test.timeout", "12m")
	cmd.Env = append(os.Environ(), "VIGIL_TEST_RESULTS=apart")
	out, err := cmd.CombinedOutput()
	passed := strings.Count(string(out), "--- PASS")
	if err != nil || passed < 40 {
		t.Errorf("%v after %d passed tests:\n%s", err, passed, out[max(0, len(out)-20_000):])
	}
	t.Logf("%d tests passed with results apart", passed)
}

// TestOneDatabaseOfResultsByTwoAddresses: the second address is not used, so that no result counts twice.
func TestOneDatabaseOfResultsByTwoAddresses(t *testing.T) {
	t.Parallel()
	k, dsn := timingtest.NewClock(epoch()), storagetest.ResultsDSN(t)
	s := storagetest.Open(t, storagetest.DSN(t), withResults(k, dsn, dsn+"&application_name=other"))
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark, frankfurt))
	w := newWriter(t, s, storage.WriterOptions{})
	write(t, w, ok(c, newark, epoch()), ok(c, frankfurt, epoch()))
	refused := 0
	for _, home := range s.HomeStates(t.Context()) {
		if home.Err != nil {
			refused++
			wantCode(t, home.Err, vigil.CodeConflict)
		}
	}
	list, extent, err := s.Results(t.Context(), c.OrgID, c.ID, listing.ResultFilter{Page: listing.Page{Limit: 10}})
	if err != nil || refused != 1 || len(list) != 2 || extent.Total != 2 {
		t.Errorf("%d addresses are refused, %d results of %d: %v; want one and two", refused, len(list), extent.Total, err)
	}
}
