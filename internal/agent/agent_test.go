// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/agent"
	"github.com/vigil-monitor/vigil/internal/agentlink"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// logs is a log that a test reads.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to it.
func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logs) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), text)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// running is an agent of a test.
type running struct {
	*agent.Agent

	dir  string
	log  *logs
	stop func()
}

// start starts an agent. change may be nil.
func start(t *testing.T, p *fakePlatform, change func(*agent.Options)) *running {
	t.Helper()
	guard := egress.New(egress.Policy{AllowedCIDRs: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	r := &running{dir: t.TempDir(), log: &logs{}}
	opts := agent.Options{
		URL: p.URL, Token: func() (string, error) { return token, nil }, HTTP: p.Client(), Dir: r.dir, SpoolBytes: 64 << 20,
		Registry: probe.NewRegistry(guard), Guard: guard, MaxProbes: 256, Name: "test", Version: "v0", Now: time.Now,
		Log: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	if change != nil {
		change(&opts)
	}
	r.dir = opts.Dir
	var err error
	ctx, cancel := context.WithCancel(t.Context())
	if r.Agent, err = agent.New(ctx, opts); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	var once sync.Once
	r.stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("the agent ended with %v", err)
			}
		})
	}
	t.Cleanup(func() {
		r.stop()
		if t.Failed() {
			t.Log(r.log.String())
		}
	})
	return r
}

// target is a server that counts what reaches it.
func target(t *testing.T, status func() int) (url string, hits *atomic.Int64) {
	t.Helper()
	hits = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		w.WriteHeader(status())
	}))
	t.Cleanup(s.Close)
	return s.URL, hits
}

func ok() int { return http.StatusOK }

func httpCheck(interval time.Duration) agentlink.Check {
	return agentlink.Check{Type: vigil.TypeHTTP, IntervalMS: interval.Milliseconds()}
}

func config(url string) string { return fmt.Sprintf(`{"url":%q,"timeout_seconds":1}`, url) }

const soon = 10 * time.Second

func TestProbes(t *testing.T) {
	t.Parallel()
	p := newFakePlatform(t)
	url, _ := target(t, ok)
	id := p.set(httpCheck(time.Second), config(url))
	r := start(t, p, nil)
	timingtest.Eventually(t, soon, "three slots have results", func() bool { return len(p.of(id)) >= 3 })
	found := p.of(id)
	schedule := vigil.Schedule{Start: p.checks[id].Start, Anchor: p.checks[id].Anchor, Interval: time.Second}
	for i, result := range found {
		if !result.Observation.Success || result.Revision != 1 || result.Observation.StatusCode != 200 {
			t.Errorf("%+v", result)
		}
		if newest, _ := schedule.Newest(result.Slot); !newest.Equal(result.Slot) {
			t.Errorf("%v is no slot", result.Slot)
		}
		if late := result.Time.Sub(result.Slot); i > 0 && (late < 0 || late > 500*time.Millisecond) {
			t.Errorf("the slot %v was probed %v late", result.Slot, late)
		}
	}
	if status := r.Status(); status.Problem != "" || status.Location.Key != "loc-office" || status.Checks != 1 {
		t.Errorf("status %+v", status)
	}
	if report := p.last(); report.Checks != 1 || report.Leaving {
		t.Errorf("report %+v", report)
	}
	p.with(func() {
		for _, s := range p.sessions {
			if s.hello.Name != "test" || len(s.hello.Types) < 5 {
				t.Errorf("hello %+v", s.hello)
			}
		}
	})
}

// A failure is repeated as the definition says, and has evidence.
func TestRetriesAndEvidence(t *testing.T) {
	t.Parallel()
	p := newFakePlatform(t)
	url, hits := target(t, func() int { return http.StatusServiceUnavailable })
	check := httpCheck(2 * time.Second)
	check.Retry = agentlink.Retry{Attempts: 2}
	id := p.set(check, config(url))
	quiet := httpCheck(2 * time.Second)
	quiet.NoEvidence = true
	without := p.set(quiet, config(url))
	start(t, p, nil)
	timingtest.Eventually(t, soon, "both have results", func() bool { return len(p.of(id)) >= 1 && len(p.of(without)) >= 1 })
	result := p.of(id)[0]
	attempts, _ := result.Observation.Metadata[vigil.MetadataAttempts].([]any)
	if result.Observation.Success || len(attempts) != 2 || result.Observation.Evidence == nil || hits.Load() < 4 {
		t.Errorf("%d attempts before, %d hits: %+v", len(attempts), hits.Load(), result)
	}
	if p.of(without)[0].Observation.Evidence != nil {
		t.Error("evidence of a check that wants none")
	}
}

// Private addresses that are not allowed are refused.
func TestPrivateTargets(t *testing.T) {
	t.Parallel()
	p := newFakePlatform(t)
	url, hits := target(t, ok)
	id := p.set(httpCheck(time.Second), config(url))
	r := start(t, p, func(o *agent.Options) {
		guard := egress.New(egress.Policy{AllowedCIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
		o.Registry = probe.NewRegistry(guard)
	})
	timingtest.Eventually(t, soon, "the check is said", func() bool { return r.log.has("a check cannot run here") })
	if hits.Load() > 0 || len(p.of(id)) > 0 {
		t.Error("a private address was probed")
	}
}

// A token that is revoked ends all probing at once; another token begins it again.
func TestRevoked(t *testing.T) {
	t.Parallel()
	p := newFakePlatform(t)
	url, hits := target(t, ok)
	p.set(httpCheck(time.Second), config(url))
	var given atomic.Pointer[string]
	use := func(text string) { given.Store(&text) }
	use(token)
	r := start(t, p, func(o *agent.Options) { o.Token = func() (string, error) { return *given.Load(), nil } })
	timingtest.Eventually(t, soon, "it is probed", func() bool { return hits.Load() > 1 })
	p.with(func() { p.accepts = token + "-rotated" })
	began := time.Now()
	timingtest.Eventually(t, soon, "nothing is known", func() bool { return r.Status().Checks == 0 })
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
	timingtest.Eventually(t, soon, "it is said", func() bool {
		return r.log.has("the token is not valid") && strings.Contains(r.Status().Problem, "not valid")
	})
	before := hits.Load()
	for i := range 3 {
		p.with(func() { p.turnedAway = 0 })
		use(fmt.Sprint(token, i))
		timingtest.Eventually(t, soon, "the next token is tried", func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.turnedAway > 0
		})
	}
	if hits.Load() != before {
		t.Error("it was probed without a valid token")
	}
	use(token + "-rotated")
	timingtest.Eventually(t, soon, "it is probed again", func() bool { return hits.Load() > before+1 })
}

// A session that the platform does not know any more is followed by another one.
func TestSessionLost(t *testing.T) {
	t.Parallel()
	p := newFakePlatform(t)
	url, _ := target(t, ok)
	id := p.set(httpCheck(time.Second), config(url))
	start(t, p, nil)
	timingtest.Eventually(t, soon, "it is probed", func() bool { return len(p.of(id)) > 1 })
	p.dropAll()
	p.with(func() { clear(p.sessions) })
	had := len(p.of(id))
	timingtest.Eventually(t, soon, "results come again", func() bool { return len(p.of(id)) > had+2 })
	found := p.of(id)
	for i := 1; i < len(found); i++ {
		if gap := found[i].Slot.Sub(found[i-1].Slot); i > 1 && gap != time.Second {
			t.Errorf("a gap of %v before %v", gap, found[i].Slot)
		}
	}
}

// While the platform is away the agent goes on, and every slot has its result afterwards, once.
func TestCutOff(t *testing.T) {
	t.Parallel()
	p := newFakePlatform(t)
	url, _ := target(t, ok)
	const secret = "hunter2-is-secret"
	var ids []uuid.UUID
	for range 20 {
		ids = append(ids, p.set(httpCheck(time.Second), fmt.Sprintf(`{"url":%q,"headers":{"Authorization":"Bearer %s"}}`, url, secret)))
	}
	r := start(t, p, nil)
	timingtest.Eventually(t, soon, "all are probed", func() bool { return p.count() > 60 })
	p.with(func() { p.down = true })
	p.dropAll()
	timingtest.Eventually(t, 20*time.Second, "results are spooled", func() bool { return r.Status().Spool.Results > 100 })
	if !r.log.has("cut off from the platform") {
		t.Error("it was not said")
	}
	holdsNothing(t, r.dir, secret, url)
	p.with(func() { p.down = false })
	timingtest.Eventually(t, 20*time.Second, "the spool is empty", func() bool {
		return r.Status().Spool.Results == 0 && r.Status().Problem == ""
	})
	r.stop()
	for _, id := range ids {
		found := p.of(id)
		for i := 2; i < len(found); i++ {
			if gap := found[i].Slot.Sub(found[i-1].Slot); gap != time.Second {
				t.Errorf("a gap of %v before %v", gap, found[i].Slot)
			}
		}
	}
	inOrder(t, p)
	holdsNothing(t, r.dir, secret, url)
}

// inOrder tests that the results of a check came in the order of their slots.
func inOrder(t *testing.T, p *fakePlatform) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	newest := map[uuid.UUID]time.Time{}
	for _, result := range p.order {
		if result.Slot.Before(newest[result.CheckID]) {
			t.Errorf("%v came after %v", result.Slot, newest[result.CheckID])
		}
		newest[result.CheckID] = result.Slot
	}
	if p.doubled > 0 {
		t.Errorf("%d results were sent twice", p.doubled)
	}
}

// holdsNothing tests that no file holds one of some texts, and that only the owner may read them.
func holdsNothing(t *testing.T, dir string, texts ...string) {
	t.Helper()
	bytesRead := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return nil //nolint:nilerr // it was removed meanwhile
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		if entry.IsDir() {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil //nolint:nilerr // the same
		}
		bytesRead += len(text)
		for _, hidden := range append(texts, token) {
			if bytes.Contains(text, []byte(hidden)) {
				t.Errorf("%s holds %q", path, hidden)
			}
		}
		return nil
	})
	if err != nil || bytesRead == 0 {
		t.Errorf("%d bytes were read, %v", bytesRead, err)
	}
}
