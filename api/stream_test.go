// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api"
)

func TestStreamReportsWhatHappens(t *testing.T) {
	t.Parallel()
	s := setupStream(t, api.StreamConfig{})
	a, other := s.signup(t), s.signup(t)
	e, foreign := s.episode(t, a), s.episode(t, other)
	f, first := s.open(t, a, "", "")
	if first.id != "0-0" {
		t.Errorf("first id %q", first.id)
	}
	strangers, _ := s.open(t, other, "", "")

	id := e.open(t)
	a.want(t, http.StatusOK, http.MethodPost, e.incidentPath+"/acknowledge", nil)
	a.want(t, http.StatusOK, http.MethodPost, e.incidentPath+"/resolve", nil)
	var last vigil.Position
	for i, kind := range []string{"incident.triggered", "incident.acknowledged", "incident.resolved"} {
		got := f.must(t)
		var body struct {
			ID, Type, Version string
			Data              struct {
				Incident struct {
					ID string `json:"id"`
				} `json:"incident"`
				Organization struct {
					ID string `json:"id"`
				} `json:"organization"`
			} `json:"data"`
		}
		if err := json.Unmarshal([]byte(got.data), &body); err != nil {
			t.Fatal(err)
		}
		if got.event != kind || body.Type != kind || body.Version != "1" || body.Data.Incident.ID != id.String() ||
			body.Data.Organization.ID != a.org.String() {
			t.Errorf("event %+v", got)
		}
		at, err := vigil.ParsePosition("id", got.id)
		if err != nil || at.Seq != int64(i)+1 || at.MS < last.MS {
			t.Errorf("id %q after %v (%v)", got.id, last, err)
		}
		last = at
	}
	f.quiet(t)
	strangers.quiet(t) // not one of them
	foreign.open(t)
	if got := strangers.must(t); !strings.HasSuffix(got.id, "-1") || !strings.Contains(got.data, other.org.String()) {
		t.Errorf("event %+v", got)
	}
	f.quiet(t)
}

func TestStreamResumes(t *testing.T) {
	t.Parallel()
	s := setupStream(t, api.StreamConfig{})
	a := s.signup(t)
	now := s.clock.Now()
	all := s.flood(t, a.org, now, 250, 0) // more than are read at a time
	newest := all[len(all)-1]

	live, first := s.open(t, a, "", "")
	if first.id != newest {
		t.Errorf("a live stream begins at %q, want the newest, %q", first.id, newest)
	}
	live.quiet(t)

	replayed, first := s.open(t, a, "?since=0-0", "")
	if got := replayed.positions(t, len(all)); first.id != "0-0" || !slices.Equal(got, all) {
		t.Errorf("replayed behind %q: %v", first.id, got)
	}
	replayed.quiet(t)

	// The header wins: an EventSource reconnects to the address it began with.
	resumed, first := s.open(t, a, "?since=0-0", all[200])
	if got := resumed.positions(t, 49); first.id != all[200] || !slices.Equal(got, all[201:]) {
		t.Errorf("resumed behind %q: %v", first.id, got)
	}
	// A client that is cut off before the first event resumes where the stream began.
	again, _ := s.open(t, a, "", first.id)
	if got := again.must(t); got.id != all[201] {
		t.Errorf("then came %q, want %q", got.id, all[201])
	}
	caughtUp, _ := s.open(t, a, "?since="+newest, "")
	caughtUp.quiet(t)

	// An id that was never sent cannot keep a client from what happens.
	ahead, first := s.open(t, a, "?since=99999999999999-7", "")
	if first.id != newest {
		t.Errorf("it begins at %q", first.id)
	}
	next := s.flood(t, a.org, now, 1, 0)[0]
	for name, f := range map[string]*follower{"live": live, "replayed": replayed, "resumed": resumed, "caught up": caughtUp, "ahead": ahead} {
		if got := f.must(t); got.id != next {
			t.Errorf("%s: %q, want %q", name, got.id, next)
		}
	}
}

func TestStreamGap(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	s := setupStream(t, api.StreamConfig{})
	a, forgotten := s.signup(t), s.signup(t)
	now := s.clock.Now()
	old := s.flood(t, a.org, now.Add(-8*day), 5, 0)
	kept := s.flood(t, a.org, now.Add(-day), 3, 0)
	ago := func(d time.Duration) string { return strconv.FormatInt(now.Add(-d).UnixMilli(), 10) + "-0" }
	for name, tt := range map[string]struct {
		since string
		gap   bool
		rest  []string
	}{
		"BehindWhatIsGone":            {old[2], true, kept},
		"AllThatIsKept":               {"0-0", false, kept},
		"NothingInBetweenIsGone":      {old[4], false, kept},
		"InTheBuffer":                 {kept[0], false, kept[1:]},
		"ATimeBeforeTheBuffer":        {ago(10 * day), true, kept},
		"ATimeInTheBuffer":            {ago(6 * day), false, kept},
		"ATimeAfterTheNewestIsNoLoss": {ago(time.Hour), false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, _ := s.open(t, a, "?since="+tt.since, "")
			if tt.gap {
				got := f.must(t)
				if want := `{"requested":"` + tt.since + `","oldest":"` + kept[0] + `"}`; got.event != "stream.gap" || got.data != want ||
					got.id != "" {
					t.Errorf("%+v, want %s", got, want)
				}
			}
			if got := f.positions(t, len(tt.rest)); !slices.Equal(got, tt.rest) {
				t.Errorf("then came %v, want %v", got, tt.rest)
			}
			f.quiet(t)
		})
	}
	t.Run("NothingIsKept", func(t *testing.T) {
		t.Parallel()
		gone := s.flood(t, forgotten.org, now.Add(-9*day), 4, 0)
		f, _ := s.open(t, forgotten, "", gone[1])
		if got := f.must(t); got.event != "stream.gap" || got.data != `{"requested":"`+gone[1]+`","oldest":null}` {
			t.Errorf("%+v", got)
		}
		next := s.flood(t, forgotten.org, now, 1, 0)
		if got := f.must(t); got.id != next[0] {
			t.Errorf("then came %+v", got)
		}
	})
}

func TestStreamHeartbeat(t *testing.T) {
	t.Parallel()
	s := setupStream(t, api.StreamConfig{Heartbeat: 20 * time.Millisecond})
	f, _ := s.open(t, s.signup(t), "", "")
	for range 3 {
		select {
		case one := <-f.frames:
			if !one.comment || one.id != "" || one.data != "" {
				t.Errorf("block %+v", one)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("no comment came")
		}
	}
}

// TestStreamWithoutNotifications holds that a lost notification costs a second
// and nothing else.
func TestStreamWithoutNotifications(t *testing.T) {
	t.Parallel()
	s := setupStream(t, api.StreamConfig{})
	a := s.signup(t)
	f, _ := s.open(t, a, "", "")
	// There is no notification of these.
	for range 3 {
		want := s.flood(t, a.org, s.clock.Now(), 2, 0)
		if got := f.positions(t, 2); !slices.Equal(got, want) {
			t.Errorf("came %v, want %v", got, want)
		}
	}
	// The connection that notifications come on is lost.
	e := s.episode(t, a)
	_, err := s.store.DB().
		NewRaw("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'").
		Exec(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e.open(t)
	if got := f.must(t); got.event != "incident.triggered" || !strings.HasSuffix(got.id, "-7") {
		t.Errorf("event %+v", got)
	}
}

// TestStreamCutsOffWhoDoesNotRead holds that a client that stands still costs
// its own stream and no other.
func TestStreamCutsOffWhoDoesNotRead(t *testing.T) {
	t.Parallel()
	// Long enough for a stream that is read to survive a pause of the machine.
	s := setupStream(t, api.StreamConfig{PerKey: 2, WriteDeadline: 3 * time.Second})
	a := s.signup(t)
	all := s.flood(t, a.org, s.clock.Now(), 400, 60_000)
	still, _, err := follow(t.Context(), s.url, a.key, "?since=0-0", "") // whose frames are not read
	if err != nil || still == nil {
		t.Fatal(err)
	}
	t.Cleanup(still.cancel)
	reading, _ := s.open(t, a, "?since=0-0", "")
	if got := reading.positions(t, len(all)); !slices.Equal(got, all) {
		t.Errorf("%d events came, want %d", len(got), len(all))
	}
	eventually(t, "a stream opens in the place of the ended one", func() bool { // its place is free again
		f, _, err := follow(t.Context(), s.url, a.key, "", "")
		if f != nil {
			f.cancel()
		}
		return err == nil && f != nil
	})
}

// TestAnIdleStreamOutlivesTheWriteDeadline holds that the time for an answer to be read
// begins with each part that is written, and does not run while a stream is idle.
func TestAnIdleStreamOutlivesTheWriteDeadline(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.clock.Advance(time.Since(b.clock.Now()))
	s := b.streaming(t, api.StreamConfig{Heartbeat: 300 * time.Millisecond}, func(d *api.Deps) {
		d.Config.WriteDeadline = 100 * time.Millisecond
		d.Config.BodyDeadline = 100 * time.Millisecond
	})
	a := s.signup(t)
	e := s.episode(t, a)
	f, _ := s.open(t, a, "", "")
	for range 3 {
		if one, ok := <-f.frames; !ok || !one.comment {
			t.Fatalf("the stream ends, or sends %+v", one)
		}
	}
	e.open(t)
	if got := f.must(t); got.event != "incident.triggered" {
		t.Errorf("event %+v", got)
	}
}

func TestStreamsEnd(t *testing.T) {
	t.Parallel()
	s := setupStream(t, api.StreamConfig{})
	a := s.signup(t)
	f, _ := s.open(t, a, "", "")
	s.server.EndStreams()
	f.ended(t, 5*time.Second)
	_, res, err := follow(t.Context(), s.url, a.key, "", "")
	if err != nil || res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("a server that stops answered %v, %v", res, err)
	}
}

// TestStreamIsPrompt holds that events come with their notification, and not
// with the look at the heads once a second.
func TestStreamIsPrompt(t *testing.T) {
	t.Parallel()
	s := setupStream(t, api.StreamConfig{})
	a := s.signup(t)
	e := s.episode(t, a)
	f, _ := s.open(t, a, "", "")
	e.resolve(t, e.open(t)) // by which time a stream listens
	f.positions(t, 2)
	var took []time.Duration
	come := func() { // what was just stored
		began := time.Now()
		f.must(t)
		took = append(took, time.Since(began))
	}
	for range 4 {
		id := e.open(t)
		come()
		e.resolve(t, id)
		come()
	}
	// An event that is stored as soon as the one before has come just missed the
	// look: without notifications every one would take most of a second.
	slices.Sort(took)
	if took[len(took)/2] > 500*time.Millisecond {
		t.Errorf("8 events, one after the other, took %v", took)
	}
}
