// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"context"
	"encoding/json"
	"reflect"
	"regexp"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

const (
	newark    = "na-east-ewr"
	frankfurt = "eu-central-fra"
	singapore = "ap-southeast-sin"
)

// epoch is the start time of tests, in the middle of an hour.
func epoch() time.Time { return time.Date(2026, 3, 10, 12, 30, 0, 0, time.UTC) }

type clock = timingtest.Clock

// newStore returns a store on its own database, with a clock set to epoch.
func newStore(tb testing.TB) (*storage.Store, *clock) {
	tb.Helper()
	c := timingtest.NewClock(epoch())
	return storagetest.New(tb, func(o *storage.Options) { o.Now = c.Now }), c
}

// unlimited is a plan that no test exceeds.
func unlimited() account.Plan { return account.PlanOf(account.TierEnterprise, time.Second) }

// newOrg stores an organization with one user.
func newOrg(tb testing.TB, s *storage.Store) (account.Organization, account.User) {
	tb.Helper()
	user, org, err := s.CreateAccount(tb.Context(), account.Organization{Name: "Acme"},
		account.User{Email: uuid.NewString() + "@example.com", Name: "Ada"}, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return org, user
}

// draft returns a check with an interval of 10 s that is not stored yet.
func draft(org uuid.UUID, regions ...string) vigil.Check {
	return vigil.Check{
		OrgID: org, Name: "home page", Type: vigil.TypeHTTP, Config: json.RawMessage(`{"url": "https://example.com/"}`),
		Target: "example.com", Interval: 10 * time.Second, Regions: regions, Enabled: true, Simultaneous: true,
	}
}

// newCheck stores a check.
func newCheck(tb testing.TB, s *storage.Store, c vigil.Check) vigil.Check {
	tb.Helper()
	stored, err := s.CreateCheck(tb.Context(), c, unlimited(), account.Allowance{})
	if err != nil {
		tb.Fatal(err)
	}
	return stored
}

// update changes a stored check.
func update(tb testing.TB, s *storage.Store, c vigil.Check, change func(*vigil.Check)) vigil.Check {
	tb.Helper()
	after, err := s.UpdateCheck(tb.Context(), c.OrgID, c.ID, unlimited(), func(c *vigil.Check) error {
		change(c)
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return after
}

// started marks the loops of a check as known to Temporal.
func started(tb testing.TB, s *storage.Store, c vigil.Check, regions ...string) {
	tb.Helper()
	for _, region := range regions {
		if err := s.MarkApplied(tb.Context(), loopOf(tb, s, c, region)); err != nil {
			tb.Fatal(err)
		}
	}
}

// loopOf returns one loop of a check.
func loopOf(tb testing.TB, s *storage.Store, c vigil.Check, region string) vigil.Loop {
	tb.Helper()
	loops, err := s.Loops(tb.Context(), c.OrgID, c.ID)
	if err != nil {
		tb.Fatal(err)
	}
	for _, loop := range loops {
		if loop.Region == region {
			return loop
		}
	}
	tb.Fatalf("no loop in %s", region)
	return vigil.Loop{}
}

// scheduleOf returns the slots of a check in a region as they are stored.
func scheduleOf(tb testing.TB, s *storage.Store, c vigil.Check, region string) vigil.Schedule {
	tb.Helper()
	def, err := s.Definition(tb.Context(), c.ID)
	if err != nil {
		tb.Fatal(err)
	}
	return def.Check.Schedule(region, def.Starts[region])
}

// newWriter starts a result writer that runs until the end of the test.
func newWriter(tb testing.TB, s *storage.Store, opts storage.WriterOptions) *storage.ResultWriter {
	tb.Helper()
	if opts.Delay == 0 {
		opts.Delay = time.Millisecond
	}
	w := storage.NewResultWriter(s, opts)
	ran := make(chan error, 1)
	ctx := context.WithoutCancel(tb.Context())
	go func() { ran <- w.Run(ctx) }()
	tb.Cleanup(func() {
		w.Close()
		if err := <-ran; err != nil {
			tb.Error(err)
		}
	})
	return w
}

// ok returns a successful result of a slot.
func ok(c vigil.Check, region string, slot time.Time) vigil.Result {
	return vigil.Result{
		ID: vigil.ResultID(c.ID, region, slot), CheckID: c.ID, Region: region, Slot: slot, Time: slot.Add(time.Millisecond),
		Observation: vigil.Observation{Success: true, ResponseTime: 20 * time.Millisecond, StatusCode: 200},
	}
}

// failed returns a failed result of a slot.
func failed(c vigil.Check, region string, slot time.Time) vigil.Result {
	r := ok(c, region, slot)
	r.Success, r.StatusCode, r.Error = false, 503, "status 503"
	return r
}

// write stores results one after the other.
func write(tb testing.TB, w *storage.ResultWriter, results ...vigil.Result) {
	tb.Helper()
	for _, r := range results {
		if _, err := w.Write(tb.Context(), vigil.ResultRow{Result: r, Worker: "w1", Deadline: 5 * time.Second}); err != nil {
			tb.Fatal(err)
		}
	}
}

// count runs a query that returns one number.
func count(tb testing.TB, s *storage.Store, query string, args ...any) int64 {
	tb.Helper()
	dbs := s.ResultDBs()
	if !ofResults.MatchString(query) {
		dbs = dbs[:1]
	}
	var sum int64
	for _, db := range dbs {
		var n int64
		if err := db.NewRaw(query, args...).Scan(tb.Context(), &n); err != nil {
			tb.Fatal(err)
		}
		sum += n
	}
	return sum
}

// ofResults finds the statements about tables that each database with results has.
var ofResults = regexp.MustCompile(`FROM (results|result_rollups|uncounted_results)\b`)

// changeResults runs a statement on all databases that keep results.
func changeResults(tb testing.TB, s *storage.Store, query string, args ...any) {
	tb.Helper()
	for _, db := range s.ResultDBs() {
		if _, err := db.ExecContext(tb.Context(), query, args...); err != nil {
			tb.Fatal(err)
		}
	}
}

func equal(tb testing.TB, got, want any) {
	tb.Helper()
	if !reflect.DeepEqual(got, want) {
		tb.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func wantCode(tb testing.TB, err error, code vigil.Code) {
	tb.Helper()
	if vigil.ErrorCode(err) != code {
		tb.Errorf("got error %v, want code %q", err, code)
	}
}

// eventually waits until a fact about another process is true.
func eventually(tb testing.TB, fact string, holds func() bool) {
	tb.Helper()
	timingtest.Eventually(tb, 30*time.Second, fact, holds)
}
