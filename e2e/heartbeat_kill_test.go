// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// job is what pings a heartbeat at each interval, and does not try again.
type job struct {
	heartbeatCheck

	mu   sync.Mutex
	ends time.Time // zero: it goes on
	last time.Time // when its last ping was answered
}

// endsAt ends the job at an instant.
func (j *job) endsAt(at time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ends = at
}

// runs reports whether it goes on at an instant.
func (j *job) runs(at time.Time) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ends.IsZero() || at.Before(j.ends)
}

// answered returns when its last ping was answered.
func (j *job) answered() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.last
}

func (j *job) run(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for j.runs(time.Now()) {
		if ping(ctx, http.MethodPost, j.PingURL, "done") == http.StatusOK {
			j.mu.Lock()
			j.last = time.Now()
			j.mu.Unlock()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// alarms are the messages that an incident has begun.
type alarms struct {
	*httptest.Server

	mu     sync.Mutex
	events map[string]string    // names of checks by the IDs of the events
	first  map[string]time.Time // by the names
}

func newAlarms(t *testing.T) *alarms {
	t.Helper()
	a := &alarms{events: make(map[string]string), first: make(map[string]time.Time)}
	a.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var event struct {
			ID, Type string
			Data     struct{ Check struct{ Name string } }
		}
		if json.NewDecoder(r.Body).Decode(&event) != nil || event.Type != "incident.triggered" {
			return
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		name := event.Data.Check.Name
		if a.events[event.ID] = name; a.first[name].IsZero() {
			a.first[name] = time.Now()
		}
	}))
	t.Cleanup(a.Close)
	return a
}

// of returns when the first message about a check came, and how many incidents of all checks there were.
func (a *alarms) of(name string) (first time.Time, incidents int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.first[name], len(a.events)
}

// outageSpan is from when to when the platform was away.
type outageSpan struct{ from, to time.Time }

// beats is a platform with heartbeats whose jobs run.
type beats struct {
	*testing.T
	client
	process *process
	env     []string
	every   time.Duration
	grace   time.Duration
	jobs    []*job
	alarms  *alarms
	away    []outageSpan

	mu   sync.Mutex
	down []downCount
}

// downCount is how many heartbeats were known to be down at an instant.
type downCount struct {
	at time.Time
	n  int
}

// startBeats starts the platform, and jobs that run until the end of the test.
func startBeats(t *testing.T, checks int, every, grace time.Duration) *beats {
	t.Helper()
	b := &beats{T: t, every: every, grace: grace, jobs: make([]*job, checks), alarms: newAlarms(t)}
	b.env = append(freePorts(dataDir(t)), "VIGIL_LISTEN="+freeAddress(t), "VIGIL_REGIONS=eu-central-fra", "VIGIL_SIGNUP_TIER=enterprise")
	b.process = start(t, b.env, "up", "--json")
	b.client = client{t: t, url: b.process.ready.APIURL, key: b.process.ready.APIKey}
	var channel struct{ ID string }
	b.into(&channel, http.MethodPost, "/v1/notification-channels", object{
		"name": "ops", "type": "webhook", "config": object{"url": b.alarms.URL},
	})
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	t.Cleanup(func() { stop(); running.Wait() })
	for i := range b.jobs {
		b.jobs[i] = &job{heartbeatCheck: newHeartbeat(b.client, jobName(i), int(every.Seconds()), int(grace.Seconds()))}
		b.into(nil, http.MethodPost, "/v1/checks/"+b.jobs[i].ID+"/alerts", object{
			"name": "down", "notify_on": "unhealthy", "condition": object{"failure_threshold": 1},
			"notification_channel_ids": []string{channel.ID},
		})
		running.Go(func() { b.jobs[i].run(ctx, every) })
	}
	running.Go(func() { b.countDown(ctx) })
	eventuallyWithin(t, every+2*waitLimit, "all jobs are healthy", func() bool { return countHealth(b.client, "healthy") == checks })
	return b
}

// countDown counts the heartbeats that are down, all the time.
func (b *beats) countDown(ctx context.Context) {
	c := b.client // the platform keeps its address
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		a, err := c.try(http.MethodGet, "/v1/checks?health=unhealthy&limit=1", nil) //nolint:contextcheck // it ends with the test
		if n, bad := strconv.Atoi(a.Meta.Total); err == nil && bad == nil {
			b.mu.Lock()
			b.down = append(b.down, downCount{time.Now(), n})
			b.mu.Unlock()
		}
	}
}

// knownAfter returns how long after the n-th deadline n heartbeats were known to be down.
func (b *beats) knownAfter(n int, deadline time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.down, func(c downCount) bool { return c.n >= n })
	if i < 0 {
		return time.Hour // they never were
	}
	return max(0, b.down[i].at.Sub(deadline))
}

func jobName(i int) string { return fmt.Sprint("job ", i) }

// kill kills the platform with SIGKILL, and starts it after a while.
func (b *beats) kill(away time.Duration) {
	b.Helper()
	killed := time.Now()
	b.process.kill()
	wait(b.T, "the time that the platform is away", away)
	b.process = start(b.T, b.env, "up", "--json")
	b.away = append(b.away, outageSpan{killed, time.Now()})
	b.url = b.process.ready.APIURL
}

// due is the latest instant at which a job that has ended may be judged: it pings once from one slot to the next or
// within the grace, and again after one interval and the grace when its ping may have been lost.
func (b *beats) due(j *job, judged time.Time) time.Time {
	latest := j.answered().Add(b.every) // its next slot begins before
	for _, back := range b.away {
		if back.to.Before(judged) {
			latest = timing.Later(latest, back.to)
		}
	}
	return latest.Add(b.every + b.grace)
}

// TestHeartbeatsKilled kills the platform again and again while half of the jobs end. No job that goes on is ever down, and
// each that has ended is: by its deadline, with one message. That it is down is known within two seconds; how long the message takes
// depends on how many are down at once.
func TestHeartbeatsKilled(t *testing.T) {
	timingtest.Parallel(t)
	d := pick(
		drill{checks: 60, interval: 5 * time.Second, rounds: 2, pause: 6 * time.Second},
		drill{checks: 1000, interval: 20 * time.Second, rounds: 6, pause: 15 * time.Second})
	b := startBeats(t, d.checks, d.interval, d.interval/5)
	p := notePauses(t)
	began, ended := time.Now(), d.checks/2
	for _, j := range b.jobs[:ended] {
		j.endsAt(began.Add(rand.N(time.Duration(d.rounds) * d.pause)))
	}
	for range d.rounds {
		wait(t, "the next kill", rand.N(d.pause))
		b.kill(rand.N(d.pause / 2))
	}
	back := time.Now()
	t.Cleanup(func() {
		for i, j := range b.jobs[:ended] {
			if first, _ := b.alarms.of(jobName(i)); first.IsZero() {
				b.describe(j)
			}
		}
	})
	eventuallyWithin(t, 4*d.interval+4*waitLimit, "a message about each job that has ended", func() bool {
		return !slices.ContainsFunc(b.jobs[:ended], func(j *job) bool {
			first, _ := b.alarms.of(jobName(slices.Index(b.jobs, j)))
			return first.IsZero()
		})
	})
	wait(t, "the deadlines of the jobs that go on", time.Until(back.Add(3*d.interval)))
	var m misses
	for i, j := range b.jobs {
		m.add(b, i, j, i < ended)
	}
	known, started := m.known(b)
	_, incidents := b.alarms.of("")
	t.Logf("%d jobs, %d kills, %d ended: notified of %d, false alarms %d, incidents %d; %v", d.checks, d.rounds, ended, m.noticed, m.falsely,
		incidents, p)
	t.Logf("after the deadline: known of %s; messages of them %s", spread(known), spread(m.messages))
	t.Logf("known within %v of a start of the platform: %s after the deadline", outage, spread(started))
	figure(t, "false alarms", m.falsely, 0, 0)
	figure(t, "misses without a message", ended-m.noticed, 0, 0)
	figure(t, "incidents more than misses", incidents-ended, 0, 0)
	figure(t, "deadline after the latest that the rules allow", m.late, time.Second, p.longest())
	figure(t, "known after the deadline", slices.Max(append(known, 0)), 2*time.Second, p.longest())
	figure(t, "known after the deadline or the start", slices.Max(append(started, 0)), outage+2*time.Second, p.longest())
}

// describe logs what the platform knows of a job.
func (b *beats) describe(j *job) {
	for _, path := range []string{
		"/checks/" + j.ID, "/checks/" + j.ID + "/results?limit=5", "/checks/" + j.ID + "/alerts", "/incidents?check_id=" + j.ID,
	} {
		seen, err := b.try(http.MethodGet, "/v1"+path, nil)
		b.Logf("GET /v1%s: %d %s %v", path, seen.Status, seen.Data, err)
	}
}

// misses are what was made of jobs that have ended, and of those that go on.
type misses struct {
	noticed, falsely int
	late             time.Duration // a deadline after the latest possible one
	deadlines        []time.Time
	messages         []time.Duration // after the deadline
}

func (m *misses) add(b *beats, i int, j *job, ended bool) {
	b.Helper()
	first, _ := b.alarms.of(jobName(i))
	failed := slices.DeleteFunc(beatsOf(b.client, j.ID), func(seen beat) bool { return seen.Success })
	switch {
	case !ended && (len(failed) > 0 || !first.IsZero()):
		m.falsely++
		b.Logf("%s goes on: message at %v, failures %+v", jobName(i), first, failed)
	case ended && len(failed) > 0 && !first.IsZero():
		m.noticed++
		deadline := failed[len(failed)-1].Time
		m.late = max(m.late, deadline.Sub(b.due(j, deadline)))
		m.deadlines, m.messages = append(m.deadlines, deadline), append(m.messages, first.Sub(deadline))
	}
}

// known returns how long after the deadlines the misses were known: first those of a time in which the platform runs for long,
// then those at which it was away, or its loops may not have been taken over yet: of them from the start.
func (m *misses) known(b *beats) (known, started []time.Duration) {
	slices.SortFunc(m.deadlines, time.Time.Compare)
	for n, deadline := range m.deadlines {
		i := slices.IndexFunc(b.away, func(a outageSpan) bool {
			return deadline.After(a.from.Add(-2*time.Second)) && deadline.Before(a.to.Add(outage))
		})
		if i < 0 {
			known = append(known, b.knownAfter(n+1, deadline))
			continue
		}
		for i+1 < len(b.away) && b.away[i+1].from.Before(b.away[i].to.Add(outage)) {
			i++ // killed again
		}
		started = append(started, b.knownAfter(n+1, timing.Later(deadline, b.away[i].to)))
	}
	return known, started
}

// spread describes durations.
func spread(all []time.Duration) string {
	if len(all) == 0 {
		return "none"
	}
	slices.Sort(all)
	at := func(share int) time.Duration { return all[(len(all)-1)*share/100].Round(time.Millisecond) }
	return fmt.Sprintf("%d, p50 %v, p99 %v, max %v", len(all), at(50), at(99), at(100))
}
