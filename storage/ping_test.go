// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/beats"
)

// heartbeat returns a heartbeat that is not stored yet.
func heartbeat(org uuid.UUID, config string) vigil.Check {
	c := draft(org, vigil.HeartbeatRegion)
	c.Name, c.Type, c.Target, c.Interval, c.Config = "backup", vigil.TypeHeartbeat, "every 60 s", time.Minute, json.RawMessage(config)
	return c
}

const everyMinute = `{"schedule": {"every_seconds": 60}}`

// tokenOf returns the token by which a heartbeat is pinged.
func tokenOf(tb testing.TB, s *storage.Store, c vigil.Check) string {
	tb.Helper()
	tokens, err := s.PingTokens(tb.Context(), c.OrgID, c.ID)
	if err != nil || len(tokens[c.ID]) != 26 {
		tb.Fatalf("tokens %v, %v", tokens, err)
	}
	return tokens[c.ID]
}

// TestPings proves that a ping is found by its token alone, once by each reader, and that a rotated
// token is not known any more.
func TestPings(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	check := newCheck(t, s, heartbeat(org.ID, everyMinute))
	newCheck(t, s, draft(org.ID, newark)) // has no token
	token := tokenOf(t, s, check)
	first, err := s.NewPings(t.Context(), "", 0)
	if err != nil || first.Cursor == "" || len(first.Pings) != 0 || first.Answered.IsZero() {
		t.Fatalf("%+v, %v", first, err)
	}
	run := uuid.New()
	err = s.AddPing(t.Context(), beats.TokenHash(token), &vigil.Ping{
		Kind: vigil.PingFail, ExitCode: new(3), Run: run, Body: "no space left", Bytes: 13,
	})
	if err != nil {
		t.Fatal(err)
	}
	news, err := s.NewPings(t.Context(), first.Cursor, first.SpansUntil)
	if err != nil || len(news.Pings) != 1 {
		t.Fatalf("%+v, %v", news, err)
	}
	sent := news.Pings[0]
	if sent.Kind != vigil.PingFail || *sent.ExitCode != 3 || sent.Run != run || sent.Body != "" || sent.Bytes != 13 ||
		sent.CheckID != check.ID {
		t.Errorf("%+v", sent)
	}
	if again, err := s.NewPings(t.Context(), news.Cursor, news.SpansUntil); err != nil || len(again.Pings) != 0 {
		t.Errorf("%+v, %v", again, err)
	}
	if since, err := s.PingsSince(t.Context(), check.ID, sent.At, 10); err != nil || len(since) != 1 {
		t.Errorf("%+v, %v", since, err)
	}
	if body, err := s.PingBody(t.Context(), sent.ID); err != nil || body != "no space left" {
		t.Errorf("body %q, %v", body, err)
	}
	if newest, err := s.NewestPings(t.Context(), org.ID, check.ID, 10); err != nil || len(newest) != 1 {
		t.Errorf("%+v, %v", newest, err)
	}
	if foreign, err := s.NewestPings(t.Context(), uuid.New(), check.ID, 10); err != nil || len(foreign) != 0 {
		t.Errorf("another organization reads %+v, %v", foreign, err)
	}
	if err := s.RotatePingToken(t.Context(), uuid.New(), check.ID); vigil.ErrorCode(err) != vigil.CodeNotFound {
		t.Errorf("another organization rotates: %v", err)
	}
	if err := s.RotatePingToken(t.Context(), org.ID, check.ID); err != nil {
		t.Fatal(err)
	}
	err = s.AddPing(t.Context(), beats.TokenHash(token), &vigil.Ping{Kind: vigil.PingSuccess})
	if vigil.ErrorCode(err) != vigil.CodeNotFound {
		t.Errorf("the token before: %v", err)
	}
	if token == tokenOf(t, s, check) {
		t.Error("the token is the same")
	}
	var clear int
	err = s.DB().NewRaw("SELECT count(*) FROM heartbeats AS h WHERE h::text LIKE ?", "%"+tokenOf(t, s, check)+"%").Scan(t.Context(), &clear)
	if err != nil || clear != 0 {
		t.Errorf("%d rows have a token in clear, %v", clear, err)
	}
}

// TestPingsTogether proves that of many pings at a time, which share transactions, each is stored once for its own
// heartbeat, and that each of those with an unknown token gets an error.
func TestPingsTogether(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	const jobs, each = 5, 60
	var tokens []string
	var checks []uuid.UUID
	for range jobs {
		check := newCheck(t, s, heartbeat(org.ID, everyMinute))
		tokens, checks = append(tokens, tokenOf(t, s, check)), append(checks, check.ID)
	}
	var sending sync.WaitGroup
	for i := range jobs * each {
		sending.Go(func() {
			ping := vigil.Ping{Kind: vigil.PingSuccess, Run: uuid.New(), Bytes: int64(i)}
			if i%3 == 0 {
				ping = vigil.Ping{Kind: vigil.PingFail, ExitCode: new(i % 256), Body: "it's {a} \"list\", NULL", Bytes: int64(i)}
			}
			if err := s.AddPing(t.Context(), beats.TokenHash(tokens[i%jobs]), &ping); err != nil {
				t.Error(err)
			}
			if err := s.AddPing(t.Context(), beats.TokenHash("x"+tokens[i%jobs]), &ping); vigil.ErrorCode(err) != vigil.CodeNotFound {
				t.Errorf("an unknown token: %v", err)
			}
		})
	}
	sending.Wait()
	for i, id := range checks {
		pings, err := s.NewestPings(t.Context(), org.ID, id, 2*each)
		if err != nil || len(pings) != each {
			t.Fatalf("%d pings, %v", len(pings), err)
		}
		seen := make(map[int64]bool)
		for _, p := range pings {
			failed := p.Kind == vigil.PingFail
			if int(p.Bytes)%jobs != i || seen[p.Bytes] || failed != (p.Bytes%3 == 0) || failed != (p.Run == uuid.Nil) ||
				failed && (*p.ExitCode != int(p.Bytes%256) || p.Body != "it's {a} \"list\", NULL") {
				t.Errorf("%+v", p)
			}
			seen[p.Bytes] = true
		}
	}
}

// TestPingOnItsWay proves that nothing is known of a time in which a ping was received that is not committed yet, however
// long that takes, and that it is read before what comes after it is known.
func TestPingOnItsWay(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	token := tokenOf(t, s, newCheck(t, s, heartbeat(org.ID, everyMinute)))
	if _, err := s.DB().NewRaw(`CREATE FUNCTION stall() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN PERFORM pg_advisory_xact_lock(42); RETURN NEW; END $$;
		CREATE TRIGGER stall BEFORE INSERT ON pings FOR EACH ROW EXECUTE FUNCTION stall()`).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, err := s.NewPings(t.Context(), "", 0)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := s.DB().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(t.Context(), "SELECT pg_advisory_xact_lock(42)"); err != nil {
		t.Fatal(err)
	}
	stored := make(chan error, 1)
	go func() {
		stored <- s.AddPing(t.Context(), beats.TokenHash(token), &vigil.Ping{Kind: vigil.PingSuccess})
	}()
	eventually(t, "the ping waits", func() bool {
		var waits bool
		err := s.DB().
			NewRaw("SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 42 AND NOT granted)").
			Scan(t.Context(), &waits)
		return err == nil && waits
	})
	var during time.Time
	if err := s.DB().NewRaw("SELECT clock_timestamp()").Scan(t.Context(), &during); err != nil {
		t.Fatal(err)
	}
	answering := func() vigil.PingNews {
		t.Helper()
		if _, err := s.MarkAnswering(t.Context(), time.Minute); err != nil {
			t.Fatal(err)
		}
		news, err := s.NewPings(t.Context(), first.Cursor, first.SpansUntil)
		if err != nil {
			t.Fatal(err)
		}
		return news
	}
	if news := answering(); len(news.Pings) != 0 || !news.Answered.Before(during) {
		t.Errorf("%+v while a ping of before %v is on its way", news, during)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-stored; err != nil {
		t.Fatal(err)
	}
	news := answering()
	if len(news.Pings) != 1 || !news.Pings[0].At.Before(during) || !news.Answered.After(during) {
		t.Errorf("%+v after the ping of before %v", news, during)
	}
}

// TestPingSpans proves that the time in which no process answered pings is a span, once.
func TestPingSpans(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	exec := func(sql string) {
		t.Helper()
		if _, err := s.DB().NewRaw(sql).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	org, _ := newOrg(t, s)
	newCheck(t, s, heartbeat(org.ID, everyMinute))
	exec("UPDATE ping_answers SET answered_at = clock_timestamp() - interval '10 seconds'")
	before, err := s.NewPings(t.Context(), "", 0)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := s.MarkAnswering(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
	}
	news, err := s.NewPings(t.Context(), before.Cursor, before.SpansUntil)
	if err != nil || len(news.Spans) != 1 || !news.Answered.After(before.Answered) {
		t.Fatalf("%+v, %v", news, err)
	}
	span := news.Spans[0]
	if !span.From.Equal(before.Answered) || span.To.After(news.Answered) || span.To.Sub(span.From) < 9*time.Second {
		t.Errorf("span %+v, answered %v until %v", span, before.Answered, news.Answered)
	}
	if same, err := s.NewPings(t.Context(), news.Cursor, news.SpansUntil); err != nil || len(same.Spans) != 0 {
		t.Errorf("read again: %+v, %v", same.Spans, err)
	}
}

// TestTimetableLoops proves that the loop of a timetable counts the slots of its timetable.
func TestTimetableLoops(t *testing.T) {
	t.Parallel()
	s, clock := newStore(t)
	org, _ := newOrg(t, s)
	draft := heartbeat(org.ID, `{"schedule": {"cron": "0 3 * * *", "timezone": "Europe/Berlin"}}`)
	draft.Interval = 24 * time.Hour
	check := newCheck(t, s, draft)
	loops, err := s.Loops(t.Context(), org.ID, check.ID)
	if err != nil || len(loops) != 1 || !loops[0].NextDue.Equal(time.Date(2026, 3, 11, 2, 0, 0, 0, time.UTC)) {
		t.Fatalf("%+v, %v", loops, err)
	}
	clock.Set(epoch().AddDate(0, 0, 30)) // clocks are put forward on 29 March
	if loops, err = s.Loops(t.Context(), org.ID, check.ID); err != nil || loops[0].Missed != 30 {
		t.Errorf("missed %d, %v", loops[0].Missed, err)
	}
	changed, err := s.UpdateCheck(t.Context(), org.ID, check.ID, unlimited(), func(c *vigil.Check) error {
		c.Config = json.RawMessage(`{"schedule": {"cron": "0 4 * * *", "timezone": "Europe/Berlin"}}`)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := gapSlots(t, s, changed, vigil.HeartbeatRegion); len(got) == 0 {
		t.Error("the slots of the schedule before are not missed")
	}
	if loops, err = s.Loops(
		t.Context(),
		org.ID,
		check.ID,
	); err != nil ||
		!loops[0].NextDue.Equal(time.Date(2026, 4, 10, 2, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v, %v", loops, err)
	}
}
