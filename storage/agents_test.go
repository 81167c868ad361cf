// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/agentlink"
	"github.com/vigil-monitor/vigil/internal/fleet"
	"github.com/vigil-monitor/vigil/internal/location"
	"github.com/vigil-monitor/vigil/storage"
)

const office = "loc-office"

// placed stores a location and returns it, with the hash of its token. An organization of zero is that
// of a public region.
func placed(tb testing.TB, s *storage.Store, org uuid.UUID, key string) (location.Access, []byte) {
	tb.Helper()
	in := location.Access{ID: uuid.New(), OrgID: org, Key: key, Name: "Office"}
	hash := []byte("hash of " + in.ID.String())
	_, err := s.DB().NewRaw(`INSERT INTO locations (id, org_id, key, name, token_hash, token_prefix)
		VALUES (?, nullif(?, ?::uuid), ?, ?, ?, 'vga_')`, in.ID, org, uuid.Nil, key, in.Name, hash).Exec(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return in, hash
}

// connected opens a session.
func connected(tb testing.TB, s *storage.Store, hash []byte) location.Session {
	tb.Helper()
	return connectedWith(tb, s, hash)
}

// connectedWith opens a session of an agent that can probe types.
func connectedWith(tb testing.TB, s *storage.Store, hash []byte, types ...vigil.CheckType) location.Session {
	tb.Helper()
	begun, err := s.OpenSession(tb.Context(), hash, &agentlink.Hello{
		Instance: uuid.New(), Name: "pi", Version: "v1", Key: []byte("key"), Types: types,
	})
	if err != nil {
		tb.Fatal(err)
	}
	session, err := s.SessionOf(tb.Context(), hash, begun.Session)
	if err != nil {
		tb.Fatal(err)
	}
	return session
}

func TestAgentSessions(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	other, _ := newOrg(t, s)
	in, hash := placed(t, s, org.ID, office)
	_, foreign := placed(t, s, other.ID, office) // the same key in another organization
	if _, err := s.OpenSession(t.Context(), []byte("guess"), &agentlink.Hello{}); vigil.ErrorCode(err) != vigil.CodeUnauthorized {
		t.Errorf("an unknown token opens a session: %v", err)
	}
	hello := agentlink.Hello{Instance: uuid.New(), Name: "pi", Version: "v1", Key: []byte("key"), Types: []vigil.CheckType{"http"}}
	first, err := s.OpenSession(t.Context(), hash, &hello)
	if err != nil || first.Location != in || first.Time.IsZero() {
		t.Fatalf("%+v, %v", first, err)
	}
	if again, err := s.OpenSession(t.Context(), hash, &hello); err != nil || again.Session != first.Session {
		t.Errorf("the same instance has %v and %v, %v", first.Session, again.Session, err)
	}
	if _, err := s.SessionOf(t.Context(), foreign, first.Session); vigil.ErrorCode(err) != vigil.CodeNotFound {
		t.Errorf("a token opens a session of another organization: %v", err)
	}
	second := connected(t, s, hash)
	report := func(session location.Session, leaving bool) []uuid.UUID {
		t.Helper()
		lives, err := s.ReportOf(t.Context(), location.Seen{Session: session, Report: &agentlink.Report{Leaving: leaving}})
		if err != nil || lives.Time.IsZero() {
			t.Fatal(lives, err)
		}
		return lives.Agents
	}
	if got := report(second, false); !slices.Equal(got, []uuid.UUID{second.ID}) {
		t.Errorf("%v live, one of which has not reported", got)
	}
	report(location.Session{ID: first.Session, Location: in}, false)
	both := []uuid.UUID{first.Session, second.ID}
	slices.SortFunc(both, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	if got := report(second, false); !slices.Equal(got, both) {
		t.Errorf("%v live, want %v", got, both)
	}
	if got := report(location.Session{ID: first.Session, Location: in}, true); !slices.Equal(got, []uuid.UUID{second.ID}) {
		t.Errorf("when one leaves %v live", got)
	}
	if got := report(second, false); !slices.Equal(got, []uuid.UUID{second.ID}) {
		t.Errorf("after one has left %v live", got)
	}
}

// TestAgentResults proves that a result waits once for its slot, and that a location sees its checks alone.
func TestAgentResults(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	other, _ := newOrg(t, s)
	in, _ := placed(t, s, org.ID, office)
	elsewhere, _ := placed(t, s, other.ID, office)
	public, _ := placed(t, s, uuid.Nil, newark)
	check := newCheck(t, s, draft(org.ID, office, newark))
	runs, err := s.RunsOf(t.Context(), in, []uuid.UUID{check.ID, uuid.New()})
	if err != nil || len(runs) != 1 || runs[check.ID].Revision != check.Revision ||
		!runs[check.ID].Schedule.First().Equal(scheduleOf(t, s, check, office).First()) {
		t.Errorf("%+v, %v", runs, err)
	}
	if runs, err := s.RunsOf(t.Context(), elsewhere, []uuid.UUID{check.ID}); err != nil || len(runs) != 0 {
		t.Errorf("a location of the same key in another organization sees %+v, %v", runs, err)
	}
	if runs, err := s.RunsOf(t.Context(), public, []uuid.UUID{check.ID}); err != nil || len(runs) != 1 {
		t.Errorf("agents of a public region see %+v, %v", runs, err)
	}
	if regions, err := s.AgentRegions(t.Context()); err != nil || !slices.Equal(regions, []string{newark}) {
		t.Errorf("agents serve %v, %v", regions, err)
	}
	if defs, _, _, err := s.LocationDefinitions(t.Context(), other.ID, office, ""); err != nil || len(defs) != 0 {
		t.Errorf("another organization's location is sent %+v, %v", defs, err)
	}
	defs, _, cursor, err := s.LocationDefinitions(t.Context(), org.ID, office, "")
	if err != nil || len(defs) != 1 || defs[0].Check.ID != check.ID {
		t.Fatalf("%+v, %v", defs, err)
	}
	if defs, _, err := definitionsOf(t, s); err != nil || len(defs) != 1 {
		t.Errorf("workers of locations have %+v, %v", defs, err)
	}
	_, next, err := s.NewSentResults(t.Context(), "", 10)
	if err != nil || next == "" {
		t.Fatal(next, err)
	}
	slot := scheduleOf(t, s, check, office).First()
	result := agentlink.Result{CheckID: check.ID, Revision: 1, Slot: slot, Time: slot, Observation: agentlink.Observation{Error: "down"}}
	for range 2 {
		if err := s.AddResults(t.Context(), office, []agentlink.Result{result}); err != nil {
			t.Fatal(err)
		}
	}
	sent, after, err := s.NewSentResults(t.Context(), next, 10)
	if err != nil || len(sent) != 1 || !sent[0].Slot.Equal(slot) || sent[0].Error != "down" || sent[0].Region != office {
		t.Fatalf("%+v, %v", sent, err)
	}
	if again, _, err := s.NewSentResults(t.Context(), after, 10); err != nil || len(again) != 0 {
		t.Errorf("read twice: %+v, %v", again, err)
	}
	if own, err := s.SentResults(t.Context(), check.ID, office, 10); err != nil || len(own) != 1 {
		t.Errorf("%+v, %v", own, err)
	}
	if err := s.TakeSentResults(t.Context(), []int64{sent[0].Number}); err != nil {
		t.Fatal(err)
	}
	if left, err := s.SentResults(t.Context(), check.ID, office, 10); err != nil || len(left) != 0 {
		t.Errorf("%+v are left, %v", left, err)
	}
	update(t, s, check, func(c *vigil.Check) { c.Regions = []string{newark} })
	if _, gone, _, err := s.LocationDefinitions(
		t.Context(),
		org.ID,
		office,
		cursor,
	); err != nil || len(gone) != 1 ||
		gone[0].CheckID != check.ID {
		t.Errorf("a check that left the location: %+v, %v", gone, err)
	}
}

// definitionsOf returns what workers of locations run.
func definitionsOf(tb testing.TB, s *storage.Store) ([]vigil.Definition, []vigil.Tombstone, error) {
	tb.Helper()
	defs, gone, _, err := s.Definitions(tb.Context(), []string{vigil.LocationsRegion}, "")
	return defs, gone, err
}

func TestAgentTasks(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	in, hash := placed(t, s, org.ID, office)
	first, second := connected(t, s, hash), connected(t, s, hash)
	wanted := location.Wanted{ID: uuid.New(), OrgID: org.ID, CheckID: uuid.New(), Region: office, Revision: 3, Once: true, Within: time.Minute}
	if err := s.AddTask(t.Context(), wanted); err != nil {
		t.Fatal(err)
	}
	if err := s.AddTask(
		t.Context(),
		location.Wanted{ID: uuid.New(), OrgID: uuid.New(), Region: office},
	); vigil.ErrorCode(
		err,
	) != vigil.CodeNotFound {
		t.Errorf("another organization has a task: %v", err)
	}
	tasks, err := s.WaitingTasks(t.Context())
	if err != nil || len(tasks) != 1 || tasks[0].LocationID != in.ID || tasks[0].Revision != 3 || !tasks[0].Once {
		t.Fatalf("%+v, %v", tasks, err)
	}
	if taken, err := s.TakeTask(t.Context(), wanted.ID, first.ID); err != nil || !taken {
		t.Fatal(taken, err)
	}
	if taken, err := s.TakeTask(t.Context(), wanted.ID, second.ID); err != nil || taken {
		t.Error("a task is taken twice", err)
	}
	answer := agentlink.TaskAnswer{Time: epoch(), Observation: agentlink.Observation{Success: true, ResponseTimeMS: 12}}
	if err := s.AnswerTask(t.Context(), wanted.ID, second.ID, &answer); vigil.ErrorCode(err) != vigil.CodeNotFound {
		t.Errorf("another agent answers: %v", err)
	}
	if taken, said, err := s.TaskState(t.Context(), wanted.ID); err != nil || !taken || said != nil {
		t.Error(taken, said, err)
	}
	if err := s.AnswerTask(t.Context(), wanted.ID, first.ID, &answer); err != nil {
		t.Fatal(err)
	}
	if _, said, err := s.TaskState(
		t.Context(),
		wanted.ID,
	); err != nil || said == nil || !said.Success ||
		said.ResponseTime != 12*time.Millisecond {
		t.Error(said, err)
	}
	if err := s.EndTask(t.Context(), wanted.ID); err != nil {
		t.Fatal(err)
	}
}

// TestLateResults proves that late results fill their slots, also for a worker that has not had the loop, and
// that no state is made of them.
func TestLateResults(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	placed(t, s, org.ID, office)
	check := newCheck(t, s, draft(org.ID, office))
	schedule := scheduleOf(t, s, check, office)
	slots := []time.Time{schedule.First()}
	for range 6 {
		slots = append(slots, schedule.Next(slots[len(slots)-1]))
	}
	w := newWriter(t, s, storage.WriterOptions{})
	write := func(slot time.Time, worker string, late bool) vigil.StoredResult {
		t.Helper()
		stored, err := w.Write(t.Context(), vigil.ResultRow{Result: ok(check, office, slot), Worker: worker, Late: late})
		if err != nil || !stored.Inserted {
			t.Fatalf("%+v, %v", stored, err)
		}
		return stored
	}
	write(slots[0], "a", false)
	if missed := write(slots[5], "a", false).Missed; missed != 4 {
		t.Errorf("%d missed, want 4", missed)
	}
	for _, i := range []int{2, 1, 4, 3} {
		write(slots[i], "b", true)
	}
	if loop := loopOf(t, s, check, office); loop.Missed != 0 || !loop.LastSlot.Equal(slots[5]) {
		t.Errorf("%d missed after all were filled, the newest %v", loop.Missed, loop.LastSlot)
	}
	rows, err := s.ResultsAfter(t.Context(), check.ID, office, slots[0], 100)
	if err != nil || len(rows) != 1 || !rows[0].Slot.Equal(slots[5]) {
		t.Errorf("a state goes on with %+v, %v", rows, err)
	}
	if rows, err := s.LatestResults(t.Context(), check.ID, office, 100); err != nil || len(rows) != 2 {
		t.Errorf("a state is made of %+v, %v", rows, err)
	}
}

// TestLocationLeases proves that one lease is for the loops of all locations.
func TestLocationLeases(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	for range 2 {
		org, _ := newOrg(t, s)
		placed(t, s, org.ID, office)
		check := newCheck(t, s, draft(org.ID, office))
		started(t, s, check, office)
		if _, err := s.DB().NewRaw("UPDATE check_regions SET nudged_at = NULL").Exec(t.Context()); err != nil { // a start counts as one
			t.Fatal(err)
		}
		lease := fleet.Lease{Worker: "w", Region: office}
		if err := s.ClaimLoops(t.Context(), lease, []uuid.UUID{check.ID}); err != nil {
			t.Fatal(err)
		}
		if owns, err := s.OwnsLoop(t.Context(), check.ID, lease); err != nil || !owns {
			t.Error(owns, err)
		}
	}
	used, err := s.RegionsInUse(t.Context(), []string{newark, vigil.LocationsRegion})
	if err != nil || !slices.Equal(used, []string{vigil.LocationsRegion}) {
		t.Errorf("%v are in use, %v", used, err)
	}
	renewal := fleet.Renewal{Worker: "w", Regions: []string{vigil.LocationsRegion}}
	if _, err := s.RenewLease(t.Context(), renewal); err != nil {
		t.Fatal(err)
	}
	if err := s.GiveUpLease(t.Context(), "w"); err != nil {
		t.Fatal(err)
	}
	if err := s.ReleaseLease(t.Context(), "w"); err != nil {
		t.Fatal(err)
	}
	silent, err := s.SilentLeases(t.Context(), time.Minute)
	if err != nil || len(silent) != 1 { // it has loops
		t.Fatal(silent, err)
	}
	if _, err := s.DB().NewRaw("UPDATE worker_leases SET revoked_at = clock_timestamp() - interval '1 min'").Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	loops, err := s.AbandonedLoops(t.Context(), silent[0], time.Minute, fleet.EverySweepShard(), 10)
	if err != nil || len(loops) != 2 || loops[0].Region != office {
		t.Errorf("%d loops are abandoned, %v", len(loops), err)
	}
}

// TestLateIncidents proves that what late results would have opened is found once, with its end.
func TestLateIncidents(t *testing.T) {
	t.Parallel()
	s, clock := newStore(t)
	org, _ := newOrg(t, s)
	placed(t, s, org.ID, office)
	check := newCheck(t, s, draft(org.ID, office))
	rule, err := ruleNotifying(t, s, check, "down", storedChannel(t, s, org.ID).ID)
	if err != nil {
		t.Fatal(err)
	}
	schedule := scheduleOf(t, s, check, office)
	slots := []time.Time{schedule.First()}
	for range 9 {
		slots = append(slots, schedule.Next(slots[len(slots)-1]))
	}
	w := newWriter(t, s, storage.WriterOptions{})
	for i, result := range []vigil.Result{
		ok(check, office, slots[0]), failed(check, office, slots[1]), failed(check, office, slots[2]), failed(check, office, slots[3]),
		ok(check, office, slots[4]), ok(check, office, slots[5]), failed(check, office, slots[6]), ok(check, office, slots[7]),
	} {
		if _, err := w.Write(t.Context(), vigil.ResultRow{Result: result, Worker: "a", Late: i > 0 && i < 7}); err != nil {
			t.Fatal(err)
		}
	}
	clock.Set(slots[8])
	review := func(want int) {
		t.Helper()
		if n, err := s.ReviewLateResults(t.Context(), fleet.EverySweepShard(), 10); err != nil || n != want {
			t.Fatalf("looked through %d, %v; want %d", n, err, want)
		}
	}
	review(0) // more may come
	if _, err := s.DB().NewRaw("UPDATE late_spans SET changed_at = changed_at - interval '1 min'").Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	review(1)
	review(0)
	late, err := s.LateIncidents(t.Context(), org.ID, check.ID, 10)
	if err != nil || len(late) != 2 || late[1].RuleID != rule.ID || !late[1].StartedAt.Equal(slots[1]) || late[1].EndedAt == nil ||
		!late[1].EndedAt.Equal(slots[4]) || !slices.Equal(late[1].Regions, []string{office}) || !late[0].StartedAt.Equal(slots[6]) {
		t.Errorf("%+v, %v", late, err)
	}
	if foreign, err := s.LateIncidents(t.Context(), uuid.New(), check.ID, 10); err != nil || len(foreign) != 0 {
		t.Errorf("another organization sees %+v, %v", foreign, err)
	}
}
