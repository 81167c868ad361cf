// SPDX-License-Identifier: Apache-2.0

package canary_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http/httptrace"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vigil-monitor/vigil/internal/canary"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// uplink is a line that can be cut. While it is, packets are lost.
type uplink struct {
	cut   atomic.Bool
	dials atomic.Int64
	rtt   time.Duration
}

func (u *uplink) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	u.dials.Add(1)
	select {
	case <-time.After(u.rtt):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if u.cut.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	near, far := net.Pipe()
	_ = far.Close()
	return near, nil
}

func (u *uplink) IsPublic(addr netip.Addr) bool { return !addr.IsLoopback() && !addr.IsPrivate() }

// world is a Line over an uplink, in the bubble of a synctest.
type world struct {
	*uplink

	line *canary.Line
	log  *bytes.Buffer
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{uplink: &uplink{rtt: 20 * time.Millisecond}, log: new(bytes.Buffer)}
	w.line = canary.New(canary.Options{
		Canaries: []string{"1.1.1.1:53", "8.8.8.8:53", "9.9.9.9:53"}, Guard: w.uplink, Now: time.Now,
		Probes: func(public func(string) bool) bool { return public("shop.example:443") },
		Log:    slog.New(slog.NewTextHandler(w.log, nil)),
	})
	ctx, stop := context.WithCancel(t.Context())
	go w.line.Run(ctx)
	t.Cleanup(func() {
		stop()
		time.Sleep(time.Second) // sleep: in the bubble, until no question is under way
	})
	synctest.Wait()
	return w
}

// fail is a failed attempt to probe a target that took a while, and how long its judgment took.
func (w *world) fail(t *testing.T, target string, took time.Duration, fresh bool) (lost bool, waited time.Duration) {
	t.Helper()
	_, judge := w.line.Follow(t.Context(), target)
	time.Sleep(took) // sleep: in the bubble
	ended := time.Now()
	return judge(t.Context(), fresh), time.Since(ended)
}

const shop = "shop.example:443"

func TestLineLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		time.Sleep(5*time.Minute + 30*time.Second) // sleep: in the bubble
		if asked := w.dials.Load(); asked != 3*6 {
			t.Errorf("%d connections in five minutes and a half, want three each minute", asked)
		}
		w.cut.Store(true)
		cut := time.Now()
		if lost, waited := w.fail(t, shop, time.Second, false); lost || waited > 0 {
			t.Errorf("a failure that is not the first one: lost %v after %s", lost, waited)
		}
		var wait sync.WaitGroup
		for range 1000 {
			wait.Go(func() {
				if lost, waited := w.fail(t, shop, time.Second, true); !lost || waited > time.Second {
					t.Errorf("a fresh failure without a line: lost %v after %s", lost, waited)
				}
			})
		}
		before := w.dials.Load()
		wait.Wait()
		if asked := w.dials.Load() - before; asked > 6 {
			t.Errorf("1,000 failures opened %d connections", asked)
		}
		if since := w.line.BlindSince(); since.Before(cut) || since.After(cut.Add(3*time.Second)) {
			t.Errorf("blind since %s after the cut", since.Sub(cut))
		}
		time.Sleep(time.Hour) // sleep: in the bubble
		if lost, _ := w.fail(t, shop, time.Second, false); !lost || !w.line.Blind() {
			t.Error("after an hour the line does not count as lost any more")
		}
		hanging := make(chan bool)
		go func() {
			lost, _ := w.fail(t, shop, 10*time.Second, true)
			hanging <- lost
		}()
		time.Sleep(5 * time.Second) // sleep: in the bubble
		w.cut.Store(false)
		time.Sleep(2 * time.Second) // sleep: in the bubble
		if w.line.Blind() || !w.line.BlindSince().IsZero() {
			t.Error("the line is found, and counts as lost")
		}
		if lost, waited := w.fail(t, shop, 0, true); lost || waited > 300*time.Millisecond {
			t.Errorf("a failure after the line is found: lost %v after %s", lost, waited)
		}
		if !<-hanging {
			t.Error("an attempt that began without a line counts against its target")
		}
		if missed := w.line.Missed(); missed != 1002 {
			t.Errorf("%d failures had no line, want 1002", missed)
		}
		if n := strings.Count(w.log.String(), "no canary answers"); n != 1 || strings.Count(w.log.String(), "answers again") != 1 {
			t.Errorf("the log says it %d times:\n%s", n, w.log)
		}
	})
}

// TestSightReturns holds that the line is found again without a failure that asks.
func TestSightReturns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		time.Sleep(time.Second) // sleep: in the bubble
		w.cut.Store(true)
		if lost, _ := w.fail(t, shop, 0, true); !lost {
			t.Fatal("a failure without a line counts")
		}
		time.Sleep(10 * time.Second) // sleep: in the bubble
		w.cut.Store(false)
		time.Sleep(1300 * time.Millisecond) // sleep: in the bubble
		if w.line.Blind() {
			t.Error("1.3 s after the line is back it counts as lost")
		}
	})
}

// TestAnswerIsNotShared cuts the line right after an answer: it counts for no later failure.
func TestAnswerIsNotShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		time.Sleep(time.Second) // sleep: in the bubble
		if lost, _ := w.fail(t, shop, time.Second, true); lost {
			t.Fatal("a failure with a line counts as one without")
		}
		w.cut.Store(true)
		if lost, waited := w.fail(t, shop, time.Millisecond, true); !lost || waited > time.Second {
			t.Errorf("lost %v after %s", lost, waited)
		}
	})
}

// TestFailuresShareQuestions has real failures each millisecond: they wait for each other.
func TestFailuresShareQuestions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		time.Sleep(time.Second) // sleep: in the bubble
		before := w.dials.Load()
		var wait sync.WaitGroup
		for i := range 1000 {
			wait.Go(func() {
				if lost, waited := w.fail(t, shop, time.Duration(i)*time.Millisecond, true); lost || waited > 300*time.Millisecond {
					t.Errorf("lost %v after %s", lost, waited)
				}
			})
		}
		wait.Wait()
		if asked := w.dials.Load() - before; asked > 5*3 {
			t.Errorf("%d connections in a second", asked)
		}
	})
}

// TestAnswerIsForgotten: a machine whose canaries have not answered for ten minutes, or never, is
// no judge of its line.
func TestAnswerIsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		time.Sleep(time.Second) // sleep: in the bubble
		w.cut.Store(true)
		time.Sleep(15 * time.Minute) // sleep: in the bubble; it is asked each minute, and blind
		if !w.line.Blind() {
			t.Error("the minute's question does not find that the line is lost")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := &world{uplink: &uplink{}, log: new(bytes.Buffer)}
		w.cut.Store(true)
		w.line = canary.New(canary.Options{
			Canaries: []string{"1.1.1.1:53"}, Guard: w.uplink, Now: time.Now, Log: slog.New(slog.NewTextHandler(w.log, nil)),
			Probes: func(func(string) bool) bool { return true },
		})
		ctx, stop := context.WithCancel(t.Context())
		go w.line.Run(ctx)
		time.Sleep(time.Hour) // sleep: in the bubble
		if lost, waited := w.fail(t, shop, 0, true); lost || waited > 0 {
			t.Errorf("lost %v after %s", lost, waited)
		}
		if n := strings.Count(w.log.String(), "no canary answers"); n != 1 {
			t.Errorf("an installation without a way out is informed %d times:\n%s", n, w.log)
		}
		stop()
		time.Sleep(time.Second) // sleep: in the bubble, until no question is under way
	})
}

// TestNothingPublic: without a public target nothing is asked.
func TestNothingPublic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		line := &uplink{}
		l := canary.New(canary.Options{
			Canaries: []string{"1.1.1.1:53"}, Guard: line, Now: time.Now, Log: slog.New(slog.DiscardHandler),
			Probes: func(public func(string) bool) bool { return public("10.0.0.1:80") || public("db:5432") },
		})
		ctx, stop := context.WithCancel(t.Context())
		go l.Run(ctx)
		time.Sleep(time.Hour) // sleep: in the bubble
		if _, judge := l.Follow(t.Context(), "127.0.0.1:80"); judge(t.Context(), true) || line.dials.Load() > 0 {
			t.Errorf("%d connections", line.dials.Load())
		}
		// A check of a public target begins, and need not wait for the minute.
		l.Follow(t.Context(), shop)
		synctest.Wait()
		if line.dials.Load() != 1 {
			t.Errorf("%d connections for a new public target", line.dials.Load())
		}
		stop()
		time.Sleep(time.Second) // sleep: in the bubble, until no question is under way
	})
}

func TestPublicTargets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		time.Sleep(time.Second) // sleep: in the bubble
		w.cut.Store(true)
		w.fail(t, shop, 0, true)
		for target, public := range map[string]bool{
			shop: true, "shop.example": true, "SHOP.example.:443": true, "93.184.216.34": true, "93.184.216.34:80": true,
			"[2606:4700::1]:443": true, "2606:4700::1": true, ".": true, "example.localhost.com": true,
			"10.0.0.1:443": false, "127.0.0.1": false, "[::1]:80": false, "[fd00::1]:80": false, "localhost:80": false, "db": false,
			"db:5432": false, "nas.local": false, "api.internal:80": false, "printer.home.arpa": false, "router.lan.": false, "NAS.LOCAL": false,
		} {
			if lost, _ := w.fail(t, target, 0, false); lost != public {
				t.Errorf("%s: lost %v, want %v", target, lost, public)
			}
		}
	})
}

// TestResolvedTargets: a name counts by its addresses, and by the last ones that it had.
func TestResolvedTargets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		time.Sleep(time.Second) // sleep: in the bubble
		w.cut.Store(true)
		w.fail(t, shop, 0, true)
		resolve := func(name string, err error, addrs ...string) bool {
			ctx, judge := w.line.Follow(t.Context(), name+":443")
			trace, info := httptrace.ContextClientTrace(ctx), httptrace.DNSDoneInfo{Err: err}
			for _, addr := range addrs {
				info.Addrs = append(info.Addrs, net.IPAddr{IP: netip.MustParseAddr(addr).AsSlice()})
			}
			trace.DNSStart(httptrace.DNSStartInfo{Host: name})
			trace.DNSDone(info)
			for _, addr := range addrs {
				trace.ConnectStart("tcp", net.JoinHostPort(addr, "443"))
			}
			return judge(t.Context(), false)
		}
		fails := errors.New("the name server does not answer")
		for _, step := range []struct {
			err    error
			addrs  []string
			public bool
		}{
			{fails, nil, true},
			{nil, []string{"10.1.2.3", "fd00::3"}, false},
			{fails, nil, false},
			{nil, []string{"10.1.2.3", "93.184.216.34"}, true},
			{fails, nil, true},
		} {
			if public := resolve("wiki.corp.example", step.err, step.addrs...); public != step.public {
				t.Errorf("%v, %v: public %v", step.err, step.addrs, public)
			}
		}
		// A check with several targets is public when one of them is.
		ctx, judge := w.line.Follow(t.Context(), "10.0.0.1:80")
		httptrace.ContextClientTrace(ctx).ConnectStart("tcp", "93.184.216.34:443")
		if !judge(t.Context(), false) {
			t.Error("the second target of an attempt is public, and it counts as private")
		}
	})
}

// TestCanceled: an attempt that its caller gives up is not judged.
func TestCanceled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		time.Sleep(time.Second) // sleep: in the bubble
		w.cut.Store(true)
		ctx, cancel := context.WithCancel(t.Context())
		_, judge := w.line.Follow(ctx, shop)
		cancel()
		if judge(ctx, true) || w.line.Missed() > 0 {
			t.Error("it counts as one without a line")
		}
	})
}

// TestOff: without canaries nothing is judged.
func TestOff(t *testing.T) {
	t.Parallel()
	line := canary.New(canary.Options{})
	line.Run(t.Context())
	_, judge := line.Follow(t.Context(), shop)
	if judge(t.Context(), true) || line.Blind() || !line.BlindSince().IsZero() || line.Missed() > 0 {
		t.Error("it judges")
	}
}

// TestRealCanaries asks servers through a real guard, and those that it refuses.
func TestRealCanaries(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	made := func(policy egress.Policy) *canary.Line {
		return canary.New(canary.Options{
			Canaries: []string{"127.0.0.1:1", listener.Addr().String()}, Guard: egress.New(policy), Now: time.Now,
			Probes: func(func(string) bool) bool { return true }, Log: slog.New(slog.DiscardHandler),
		})
	}
	fails := func(line *canary.Line) bool {
		_, judge := line.Follow(t.Context(), "93.184.216.34:443")
		return judge(t.Context(), true)
	}
	open, refused := made(egress.Policy{AllowPrivate: true}), made(egress.Policy{})
	for _, line := range []*canary.Line{open, refused} {
		ctx, stop := context.WithCancel(t.Context())
		ran := make(chan struct{})
		go func() {
			defer close(ran)
			line.Run(ctx)
		}()
		t.Cleanup(func() {
			stop()
			<-ran
		})
	}
	timingtest.Eventually(t, 30*time.Second, "a canary has answered", open.Answered)
	if fails(open) || fails(refused) {
		t.Error("a failure while a canary answers, or none may be asked, counts as one without a line")
	}
	_ = listener.Close()
	if !fails(open) || fails(refused) {
		t.Error("the canaries are gone: want the one that had answered to be blind, and not the other")
	}
}
