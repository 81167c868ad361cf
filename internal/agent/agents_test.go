// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"net/http"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/agent"
	"github.com/vigil-monitor/vigil/internal/agentlink"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// everySlot tests that a check has a result for each slot from its second one on, but for as many as
// may be missing, and returns how many are.
func everySlot(t *testing.T, p *fakePlatform, id uuid.UUID) (missing int) {
	t.Helper()
	found := p.of(id)
	for i := 2; i < len(found); i++ {
		missing += int(found[i].Slot.Sub(found[i-1].Slot)/time.Second) - 1
	}
	return missing
}

// Two agents share the checks; when one stops the other takes over, and no slot is missed.
func TestTwoAgents(t *testing.T) {
	t.Parallel()
	p := newFakePlatform(t)
	url, _ := target(t, ok)
	var ids []uuid.UUID
	for range 40 {
		ids = append(ids, p.set(httpCheck(time.Second), config(url)))
	}
	first := start(t, p, nil)
	timingtest.Eventually(t, soon, "the first has all", func() bool { return first.Status().Checks == 40 && p.count() > 80 })
	second := start(t, p, nil)
	timingtest.Eventually(t, soon, "they share", func() bool {
		a, b := first.Status().Checks, second.Status().Checks
		return a+b == 40 && a > 5 && b > 5
	})
	had := p.count()
	timingtest.Eventually(t, soon, "both probe", func() bool { return p.count() > had+100 })
	first.stop()
	if got := second.Status().Checks; got != 40 {
		t.Errorf("after the first has left, the second has %d checks", got)
	}
	had = p.count()
	timingtest.Eventually(t, soon, "the second probes all", func() bool { return p.count() > had+100 })
	for _, id := range ids {
		if n := everySlot(t, p, id); n > 0 {
			t.Errorf("%d slots of %v are missing", n, id)
		}
	}
}

// childURL is the variable by which this test program becomes an agent.
const childURL, childDir = "AGENT_TEST_URL", "AGENT_TEST_DIR"

// TestChild is an agent in a process of its own, which another test kills.
func TestChild(t *testing.T) { //nolint:paralleltest // it is no test but a process
	url := os.Getenv(childURL)
	if url == "" {
		t.Skip("is run by TestKilled")
	}
	p := newFakePlatform(t)
	r := start(t, p, func(o *agent.Options) {
		o.URL, o.HTTP, o.Dir = url, http.DefaultClient, os.Getenv(childDir)
	})
	<-t.Context().Done()
	r.stop()
}

func child(t *testing.T, p *fakePlatform, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), childURL+"="+p.URL, childDir+"="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// An agent that is killed while the platform is away loses what was in its memory alone; its next
// process sends the rest. Of two agents, the other one has the checks within ten seconds.
func TestKilled(t *testing.T) {
	t.Parallel()
	p := newFakePlatform(t)
	url, _ := target(t, ok)
	id := p.set(httpCheck(time.Second), config(url))
	dir := t.TempDir()
	process := child(t, p, dir)
	timingtest.Eventually(t, soon, "it is probed", func() bool { return len(p.of(id)) > 1 })
	p.with(func() { p.down = true })
	p.dropAll()
	cut := time.Now()
	timingtest.Eventually(t, 30*time.Second, "some results are spooled", func() bool { return time.Since(cut) > 12*time.Second })
	_ = process.Process.Kill()
	_ = process.Wait()
	killed := time.Now()
	p.with(func() { p.down = false })
	child(t, p, dir)
	timingtest.Eventually(t, soon, "it is probed again", func() bool {
		found := p.of(id)
		return len(found) > 0 && found[len(found)-1].Slot.After(killed)
	})
	spooled := 0
	for _, result := range p.of(id) {
		if result.Slot.After(cut) && result.Slot.Before(killed) {
			spooled++
		}
	}
	if spooled < 5 {
		t.Errorf("of the results while the platform was away, %d came", spooled)
	}
	other := start(t, p, nil)
	timingtest.Eventually(t, soon, "both live", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.sessions) >= 3
	})
	timingtest.Eventually(t, 15*time.Second, "one of them probes", func() bool { return len(p.of(id)) > 0 && other.Status().Checks <= 1 })
}

// The other agent has the checks of one that dies within ten seconds.
func TestTakesOver(t *testing.T) {
	t.Parallel()
	p := newFakePlatform(t)
	url, _ := target(t, ok)
	var ids []uuid.UUID
	for range 20 {
		ids = append(ids, p.set(httpCheck(time.Second), config(url)))
	}
	process := child(t, p, t.TempDir())
	timingtest.Eventually(t, soon, "the first probes", func() bool { return p.count() > 20 })
	second := start(t, p, nil)
	timingtest.Eventually(t, soon, "they share", func() bool { n := second.Status().Checks; return n > 0 && n < 20 })
	_ = process.Process.Kill()
	_ = process.Wait()
	killed := time.Now()
	// After 5 to 6 s, and 18 s is three times as much.
	timingtest.Eventually(t, 18*time.Second, "the second has all", func() bool { return second.Status().Checks == 20 })
	had := time.Since(killed)
	timingtest.Eventually(t, soon, "all are probed", func() bool {
		return !slices.ContainsFunc(ids, func(id uuid.UUID) bool {
			found := p.of(id)
			return len(found) == 0 || !found[len(found)-1].Slot.After(killed.Add(had))
		})
	})
}

// An agent whose clock is three minutes off probes the slots of the platform's clock.
func TestClockIsCorrected(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{
		"far ahead": 3 * time.Minute, "far behind": -3 * time.Minute,
		"ahead": 3 * time.Second, "behind": -3 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newFakePlatform(t)
			url, _ := target(t, ok)
			id := p.set(httpCheck(time.Second), config(url))
			r := start(t, p, func(o *agent.Options) { o.Now = func() time.Time { return time.Now().Add(off) } })
			timingtest.Eventually(t, soon, "it is probed", func() bool { return len(p.of(id)) > 3 })
			now := time.Now()
			for i, result := range p.of(id) {
				if late := result.Time.Sub(result.Slot); result.Slot.After(now) || now.Sub(result.Slot) > 15*time.Second ||
					i > 0 && (late < -time.Second || late > time.Second) {
					t.Errorf("slot %v, probed %v later, at %v", result.Slot, late, now)
				}
			}
			if got := time.Duration(p.last().ClockMS) * time.Millisecond; (got - off).Abs() > time.Second {
				t.Errorf("it reports that its clock is %v ahead", got)
			}
			if far := off.Abs() > agentlink.ClockTolerance; r.log.has("is not that of the platform") != far {
				t.Errorf("it was said: %v", !far)
			}
		})
	}
}

// A restored platform gets the results of the last hour again.
func TestEpochChanges(t *testing.T) {
	t.Parallel()
	p := newFakePlatform(t)
	url, _ := target(t, ok)
	id := p.set(httpCheck(time.Second), config(url))
	r := start(t, p, nil)
	timingtest.Eventually(t, soon, "it is probed", func() bool { return len(p.of(id)) > 4 })
	var before []agentlink.Result
	p.with(func() {
		for _, result := range p.stored {
			before = append(before, result)
		}
		clear(p.stored)
		p.epoch = 7
	})
	timingtest.Eventually(t, soon, "all are there again", func() bool {
		found := p.of(id)
		return !slices.ContainsFunc(before, func(was agentlink.Result) bool {
			return !slices.ContainsFunc(found, func(is agentlink.Result) bool { return is.Slot.Equal(was.Slot) })
		})
	})
	if !r.log.has("restored from a backup") {
		t.Error("it was not said")
	}
}

// Reports that are too large are sent in parts, and refused results are not sent again.
func TestReportsInParts(t *testing.T) {
	t.Parallel()
	p := newFakePlatform(t)
	url, _ := target(t, ok)
	for range 30 {
		p.set(httpCheck(time.Second), config(url))
	}
	p.with(func() { p.largest = 3 })
	r := start(t, p, nil)
	timingtest.Eventually(t, soon, "results come", func() bool { return p.count() > 60 })
	p.with(func() { p.refuses = agentlink.RefusedSchedule })
	timingtest.Eventually(t, soon, "it is said", func() bool { return r.log.has("does not store some results") })
	timingtest.Eventually(t, soon, "none waits", func() bool { return r.Status().Spool.Results == 0 })
}

func TestTask(t *testing.T) {
	t.Parallel()
	p := newFakePlatform(t)
	r := start(t, p, nil)
	timingtest.Eventually(t, soon, "it is there", func() bool { return r.Status().Problem == "" && len(p.last().Results) == 0 })
	timingtest.Eventually(t, soon, "its stream is open", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.resumed) > 0
	})
	url, hits := target(t, func() int { return http.StatusInternalServerError })
	check := httpCheck(time.Minute)
	check.ID, check.Revision, check.Retry = uuid.New(), 3, agentlink.Retry{Attempts: 2}
	unknown := check
	unknown.Type = "teleport"
	asked := p.ask(check, config(url), true, soon)
	again := p.ask(check, config(url), false, soon)
	cannot := p.ask(unknown, `{}`, true, soon)
	timingtest.Eventually(t, soon, "all are answered", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.answers) == 3
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	if got := p.answers[asked].Observation; got.Success || got.StatusCode != 500 || got.Evidence == nil ||
		got.Metadata[vigil.MetadataAttempts] != nil {
		t.Errorf("%+v", got)
	}
	if got := p.answers[again].Observation; got.Metadata[vigil.MetadataAttempts] == nil || hits.Load() != 4 {
		t.Errorf("%d hits, %+v", hits.Load(), got)
	}
	if got := p.answers[cannot].Observation; !got.Unavailable || got.Error == "" {
		t.Errorf("%+v", got)
	}
}

// What waits for an instant that was wrong begins when the clock is right again.
func TestClockGoesBack(t *testing.T) {
	t.Parallel()
	p := newFakePlatform(t)
	url, hits := target(t, ok)
	p.set(httpCheck(time.Second), config(url))
	r := start(t, p, nil)
	timingtest.Eventually(t, soon, "it is probed", func() bool { return hits.Load() > 2 })
	p.with(func() { p.now = func() time.Time { return time.Now().Add(3 * time.Minute) } })
	timingtest.Eventually(t, 20*time.Second, "the agent follows the platform's clock", func() bool { return r.Status().Clock < -time.Minute })
	before := hits.Load()
	timingtest.Eventually(t, soon, "it is probed by it", func() bool { return hits.Load() > before+1 })
	p.with(func() { p.now = time.Now })
	timingtest.Eventually(t, 20*time.Second, "the agent follows it back", func() bool { return r.Status().Clock > -time.Second })
	before = hits.Load()
	timingtest.Eventually(t, soon, "it is probed again", func() bool { return hits.Load() > before+2 })
}
