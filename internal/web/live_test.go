// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/web"
)

// TestLive holds that an open page gets what changes on it.
func TestLive(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	id, elsewhere := f.check(t, "a.example"), f.check(t, "b.example")
	f.result(t, id, 5, "")

	t.Run("CellsOfARowChange", func(t *testing.T) {
		t.Parallel()
		events := f.b.stream(t, "page=checks&rows="+id.String())
		events.until(t, "event: hello")
		f.keepFailing(t, id, 4, func() bool { return events.has("event: states") })
		got := events.until(t, "event: states")
		for _, text := range []string{`id="c-` + id.String() + `-mark"`, "m-down", `-strip`, `-why"`, `-name"`} {
			if !strings.Contains(got, text) {
				t.Errorf("the events lack %q: %s", text, got)
			}
		}
		if strings.Contains(got, elsewhere.String()) {
			t.Error("the events have a check that is not on the page")
		}
		events.until(t, "a.example: failing")
		counts := events.until(t, `id="count-failing">1<`)
		if !strings.Contains(counts, `id="nav-incidents"`) {
			t.Errorf("the events lack the number of open incidents: %s", counts)
		}
	})

	t.Run("AResumedPageGetsAllOfItsRows", func(t *testing.T) {
		t.Parallel()
		events := f.b.stream(t, "page=checks&rows="+elsewhere.String(), "Last-Event-Id", "1000")
		events.until(t, `id="c-`+elsewhere.String()+`-mark"`)
	})

	t.Run("EndsWithItsSession", func(t *testing.T) {
		t.Parallel()
		first, other := f.signIn(t, f.email, password), f.signIn(t, f.email, password)
		ends, goesOn := first.stream(t, "page=checks&rows="+id.String()), other.stream(t, "page=checks&rows="+id.String())
		ends.until(t, "event: hello")
		first.follow(t, "/app/sign-out", nil)
		ends.until(t, "event: signed-out")
		before := strings.Count(goesOn.until(t, ": \n"), ": \n")
		for strings.Count(goesOn.text.String(), ": \n") < before+3 { // signs of life after it
			goesOn.next(t)
		}
		if goesOn.has("signed-out") {
			t.Error("the page of another session ended")
		}
	})

	t.Run("AUserHasAtMost100Pages", func(t *testing.T) {
		t.Parallel()
		b, _ := f.signUp(t)
		first := b.stream(t, "page=checks")
		for range 99 {
			b.stream(t, "page=checks")
		}
		for strings.Count(first.text.String(), ": \n") < 40 { // signs of life; a page looks as often whether its session goes on
			first.next(t)
		}
		b.get(t, http.StatusOK, "/app/incidents") // open pages use up nothing of what the user may request
		refused := b.get(t, http.StatusTooManyRequests, "/app/stream?page=checks")
		if after := refused.header.Get("Retry-After"); after != "30" {
			t.Errorf("Retry-After %q", after)
		}
	})

	t.Run("NeedsASession", func(t *testing.T) {
		t.Parallel()
		f.browser(t).get(t, http.StatusUnauthorized, "/app/stream?page=checks")
	})
}

// keepFailing stores a failure, and another one each time that until is false a while
// later: the first may come before the page is asked about.
func (f *machines) keepFailing(t *testing.T, id uuid.UUID, left int, until func() bool) {
	t.Helper()
	for n := left; n > -40; n-- {
		f.result(t, id, n, "no answer")
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		for tick := time.NewTicker(20 * time.Millisecond); ctx.Err() == nil; <-tick.C {
			if until() {
				cancel()
				return
			}
		}
		cancel()
	}
}

// eventStream collects the events of a page.
type eventStream struct {
	lines chan string
	text  strings.Builder
}

// stream opens the stream of a page. Pairs are headers of the request.
func (b *browser) stream(t *testing.T, query string, headers ...string) *eventStream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.site.url+"/app/stream?"+query, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := b.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if kind := res.Header.Get("Content-Type"); res.StatusCode != http.StatusOK || kind != "text/event-stream" {
		t.Fatalf("status %d, %s", res.StatusCode, kind)
	}
	e := &eventStream{lines: make(chan string, 10_000)}
	go func() {
		defer close(e.lines)
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			e.lines <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		cancel()
		_ = res.Body.Close()
	})
	return e
}

// has reads what has come and reports whether it has the text.
func (e *eventStream) has(text string) bool {
	for {
		select {
		case line, ok := <-e.lines:
			if !ok {
				return true
			}
			e.text.WriteString(line + "\n")
		default:
			return strings.Contains(e.text.String(), text)
		}
	}
}

// next waits for a line.
func (e *eventStream) next(t *testing.T) {
	t.Helper()
	select {
	case line, ok := <-e.lines:
		if !ok {
			t.Fatalf("the stream ended after %s", e.text.String())
		}
		e.text.WriteString(line + "\n")
	case <-time.After(time.Minute):
		t.Fatalf("nothing more after %s", e.text.String())
	}
}

// until waits for a text and returns everything up to it.
func (e *eventStream) until(t *testing.T, text string) string {
	t.Helper()
	end := time.NewTimer(time.Minute)
	defer end.Stop()
	for !strings.Contains(e.text.String(), text) {
		select {
		case line, ok := <-e.lines:
			if !ok {
				t.Fatalf("the stream ended before %q", text)
			}
			e.text.WriteString(line + "\n")
		case <-end.C:
			t.Fatalf("no %q in %s", text, e.text.String())
		}
	}
	return e.text.String()
}

// TestTheStreamOfAnEndedSessionEnds holds that a stream looks for the end of its session more
// often than it shows a sign of life.
// What open pages read by themselves has a rate of its own: it goes on when the user has made all
// requests of a minute, and does not count among them.
func TestLivePagesDoNotUseUpTheRateOfTheirUser(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	id := f.check(t, "a.example")
	events := f.b.stream(t, "page=check&check="+id.String()+"&of=/app/checks/"+id.String())
	events.until(t, "event: hello")
	user, err := f.store.UserByEmail(t.Context(), f.email)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(ctx context.Context) int {
		answer := httptest.NewRecorder()
		ctx = rest.ActAs(ctx, user.ID, user.SessionVersion)
		f.api.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/auth/me", http.NoBody))
		return answer.Code
	}
	made := 0
	for ask(t.Context()) == http.StatusOK {
		made++
	}
	if code := ask(t.Context()); code != http.StatusTooManyRequests || made > rest.SessionRate {
		t.Fatalf("%d requests, and then %d", made, code)
	}
	f.result(t, id, 5, "connection_refused")
	events.until(t, `id="check-results`)
	// And the other way around.
	other, email := f.signUp(t)
	user, err = f.store.UserByEmail(t.Context(), email)
	if err != nil {
		t.Fatal(err)
	}
	made = 0
	for ask(rest.InBackground(t.Context())) == http.StatusOK {
		made++
	}
	if made != rest.SessionRate {
		t.Errorf("%d requests in the background", made)
	}
	other.get(t, http.StatusOK, "/app")
}

func TestTheStreamOfAnEndedSessionEnds(t *testing.T) {
	t.Parallel()
	s := openAs(t, "", func(c *web.Config) { c.Beat = time.Hour })
	b, email := s.signUp(t)
	other := s.signIn(t, email, password)
	ends := b.stream(t, "page=checks")
	ends.until(t, "event: hello")
	b.follow(t, "/app/sign-out", nil)
	ends.until(t, "event: signed-out")
	// So does that of every session after a sign-out everywhere.
	ends = other.stream(t, "page=checks")
	ends.until(t, "event: hello")
	user, err := s.store.UserByEmail(t.Context(), email)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.store.EndSessions(t.Context(), user.ID); err != nil {
		t.Fatal(err)
	}
	// A change of the page finds it before the next look does.
	s.check(t, s.signIn(t, email, password))
	ends.until(t, "event: signed-out")
}
