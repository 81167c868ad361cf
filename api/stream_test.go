package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"vigil"
	"vigil/api"
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

func TestStreamRefusals(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	for _, id := range []string{
		"x", "1", "1-", "-1", "1-x", "-1-1", "1--1", "+1-1", "01-1", "1-1-1", "1_1", "9223372036854775808-1", "1-1%20",
	} {
		if r := a.want(
			t,
			http.StatusBadRequest,
			http.MethodGet,
			"/v1/stream/alerts?since="+strings.ReplaceAll(id, "+", "%2B"),
			nil,
		); r.detail(
			"member",
		) != "since" {
			t.Errorf("since=%s: %s", id, r.raw)
		}
		if r := a.want(
			t,
			http.StatusBadRequest,
			http.MethodGet,
			"/v1/stream/alerts",
			nil,
			"Last-Event-ID",
			strings.ReplaceAll(id, "%20", " x"),
		); r.detail(
			"member",
		) != "Last-Event-ID" {
			t.Errorf("Last-Event-ID: %s: %s", id, r.raw)
		}
	}
	a.want(t, http.StatusBadRequest, http.MethodGet, "/v1/stream/alerts?since=", nil)
	a.want(t, http.StatusBadRequest, http.MethodGet, "/v1/stream/alerts?since=0-0&since=0-0", nil)
	b.want(t, http.StatusUnauthorized, http.MethodGet, "/v1/stream/alerts", nil)
	b.as("vgl_x").want(t, http.StatusUnauthorized, http.MethodGet, "/v1/stream/alerts", nil)
	a.want(t, http.StatusMethodNotAllowed, http.MethodPost, "/v1/stream/alerts", nil)
	if r := a.want(t, http.StatusOK, http.MethodHead, "/v1/stream/alerts", nil); r.header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("header %v", r.header)
	}
}

func TestStreamLimits(t *testing.T) {
	t.Parallel()
	s := setupStream(t, api.StreamConfig{})
	a, other := s.signup(t), s.signup(t)
	refused := func(a account, scope string) {
		t.Helper()
		direct := *a.client
		direct.url = s.url
		r := direct.want(t, http.StatusTooManyRequests, http.MethodGet, "/v1/stream/alerts", nil)
		if r.body["code"] != "rate_limited" || r.detail("scope") != scope || r.header.Get("Retry-After") == "" {
			t.Errorf("answer %s", r.raw)
		}
	}
	var open []*follower
	for range 10 {
		f, _ := s.open(t, a, "", "")
		open = append(open, f)
	}
	refused(a, "key")
	for i := range 4 {
		made := a.want(t, http.StatusCreated, http.MethodPost, "/v1/api-keys", map[string]any{"name": "more " + strconv.Itoa(i)}).data(t)
		more := account{client: a.as(text(made, "api_key")), key: text(made, "api_key")}
		for range 10 {
			s.open(t, more, "", "")
		}
	}
	made := a.want(t, http.StatusCreated, http.MethodPost, "/v1/api-keys", map[string]any{"name": "one more"}).data(t)
	last := account{client: a.as(text(made, "api_key")), key: text(made, "api_key")}
	refused(last, "organization")
	s.open(t, other, "", "") // no other stream is held up

	open[3].cancel()
	eventually(t, func() bool {
		f, _, err := follow(t.Context(), s.url, last.key, "", "")
		if f != nil {
			t.Cleanup(f.cancel)
		}
		return err == nil && f != nil
	})
	refused(last, "organization")
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

// TestStreamRevoked holds that the streams of a revoked key end within five
// seconds: four for which the key is cached, by the server's clock, and
// one of the machine's, which may be late but not every time.
func TestStreamRevoked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	here, elsewhere := b.streaming(t, api.StreamConfig{}), b.streaming(t, api.StreamConfig{})
	stays, _ := here.open(t, a, "", "")
	best := time.Minute
	for try := 0; try < 5 && best > time.Second; try++ {
		made := a.want(t, http.StatusCreated, http.MethodPost, "/v1/api-keys", map[string]any{"name": "short"}).data(t)
		doomed := account{client: a.as(text(made, "api_key")), key: text(made, "api_key")}
		one, _ := here.open(t, doomed, "", "")
		two, _ := elsewhere.open(t, doomed, "", "")
		a.want(t, http.StatusNoContent, http.MethodDelete, "/v1/api-keys/"+text(made, "id"), nil)
		b.clock.advance(4 * time.Second)
		began := time.Now()
		one.ended(t, 15*time.Second)
		two.ended(t, 15*time.Second)
		best = min(best, time.Since(began))
		if f, res, err := follow(t.Context(), here.url, doomed.key, "", ""); err != nil || f != nil || res.StatusCode != http.StatusUnauthorized {
			t.Errorf("a revoked key was answered %v, %v", res, err)
		}
	}
	if best > time.Second {
		t.Errorf("both ended %v after the key was no longer cached", best)
	}
	stays.quiet(t)
}

func TestStreamOfASession(t *testing.T) {
	t.Parallel()
	s := setupStream(t, api.StreamConfig{})
	data := s.want(t, http.StatusCreated, http.MethodPost, "/v1/auth/signup", map[string]any{
		"email": "ada@example.com", "password": "difference engine", "name": "Ada", "organization_name": "Engines",
	}).data(t)
	f, _ := s.open(t, account{key: text(data, "token")}, "", "")
	f.quiet(t)
	s.clock.advance(7*24*time.Hour + time.Minute)
	f.ended(t, 5*time.Second)
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
	eventually(t, func() bool { // its place is free again
		f, _, err := follow(t.Context(), s.url, a.key, "", "")
		if f != nil {
			f.cancel()
		}
		return err == nil && f != nil
	})
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
