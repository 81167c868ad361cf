// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/console"
	"github.com/vigil-monitor/vigil/internal/demo"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// demoEvent is a line of `vigil up --demo --json`.
type demoEvent struct {
	Event          string  `json:"event"`
	Seconds        float64 `json:"seconds"`
	Text           string  `json:"text"`
	TemporalURL    string  `json:"temporal_url"`
	CheckID        string  `json:"check_id"`
	IncidentID     string  `json:"incident_id"`
	MessageID      string  `json:"message_id"`
	MessageType    string  `json:"message_type"`
	Attempt        int     `json:"attempt"`
	Delivered      *bool   `json:"delivered"`
	Status         int     `json:"status"`
	SignatureValid *bool   `json:"signature_valid"`
	Incidents      int     `json:"incidents"`
	Deliveries     int     `json:"deliveries"`
	Attempts       int     `json:"attempts"`
}

// demoRun is one run of `vigil up --demo --json`.
type demoRun struct {
	*process
	mu     sync.Mutex
	events []demoEvent
	shown  []demo.Event // the same, as the program has them
}

// upDemo starts `vigil up --demo` and reads its events.
func upDemo(t *testing.T, dir string) *demoRun {
	t.Helper()
	d := &demoRun{process: &process{t: t, stderr: &tail{}, exited: make(chan struct{})}}
	d.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), binary, "up", "--demo", "--json")
	d.cmd.Env = append(os.Environ(), freePorts(dir)...)
	d.cmd.Stderr = d.stderr
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.kill()
		if t.Failed() {
			t.Logf("log of the demo:\n%s", d.stderr)
		}
	})
	started := make(chan ready, 1)
	go func() {
		defer close(d.exited)
		defer close(started)
		lines := bufio.NewScanner(out)
		if lines.Scan() {
			var first ready
			if json.Unmarshal(lines.Bytes(), &first) == nil {
				started <- first
			}
		}
		for lines.Scan() {
			var event demoEvent
			if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
				t.Errorf("a line is no JSON: %s", lines.Text())
			}
			var shown demo.Event
			if err := json.Unmarshal(lines.Bytes(), &shown); err != nil {
				t.Errorf("a line is no event: %v", err)
			}
			d.mu.Lock()
			d.events, d.shown = append(d.events, event), append(d.shown, shown)
			d.mu.Unlock()
		}
		_, _ = io.Copy(io.Discard, out)
		_ = d.cmd.Wait()
	}()
	select {
	case d.ready = <-started:
	case <-time.After(waitLimit):
	}
	if d.ready.APIURL == "" {
		t.Fatalf("not ready:\n%s", d.stderr)
	}
	return d
}

// seen returns the events of the kinds so far; without kinds all.
func (d *demoRun) seen(kinds ...string) []demoEvent {
	d.mu.Lock()
	defer d.mu.Unlock()
	var found []demoEvent
	for _, event := range d.events {
		if len(kinds) == 0 || slices.Contains(kinds, event.Event) {
			found = append(found, event)
		}
	}
	return found
}

// await waits until there are n events of a kind, and returns the last one.
func (d *demoRun) await(kind string, n int) demoEvent {
	d.t.Helper()
	eventually(d.t, "the demo shows "+kind, func() bool { return len(d.seen(kind)) >= n })
	return d.seen(kind)[n-1]
}

// steps are the events in words.
func steps(events []demoEvent) []string {
	var all []string
	for _, event := range events {
		step := event.Event
		if step == "attempt" {
			step = strings.TrimPrefix(event.MessageType, "incident.") + " refused"
			if event.Delivered != nil && *event.Delivered {
				step = strings.TrimPrefix(event.MessageType, "incident.") + " delivered"
			}
		}
		all = append(all, step)
	}
	return all
}

// links opens every link of the events, as the operator, and returns how many there are.
func (d *demoRun) links() (n int) {
	d.t.Helper()
	browser := operatorBrowser(d.t, d.process)
	for _, event := range d.seen() {
		if event.TemporalURL == "" {
			continue
		}
		n++
		response := visit(d.t, browser, http.MethodGet, event.TemporalURL, "")
		if response.StatusCode != http.StatusOK {
			d.t.Errorf("the link of %q answers %d", event.Text, response.StatusCode)
		}
	}
	return n
}

// checkLines holds that a terminal of 100 columns shows each event whole, on one line.
func (d *demoRun) checkLines() {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, event := range d.shown {
		line := event.Line(100)
		if console.Width(line) > 100 || strings.Contains(line, "\n") || !strings.Contains(line, event.Text) || event.Text == "" {
			d.t.Errorf("a terminal of 100 columns shows %q of %q", line, event.Text)
		}
	}
}

// checkMessages checks the attempts of a story: the first one refused, the others delivered
// with valid signatures, and the same message under the same id.
func checkMessages(t *testing.T, attempts []demoEvent) {
	t.Helper()
	ids := map[string]string{}
	for _, attempt := range attempts {
		if attempt.SignatureValid == nil || !*attempt.SignatureValid || attempt.MessageID == "" {
			t.Errorf("the receiver did not see a valid message in %q", attempt.Text)
		}
		if known := ids[attempt.MessageType]; known != "" && known != attempt.MessageID {
			t.Errorf("%s has the ids %s and %s", attempt.MessageType, known, attempt.MessageID)
		}
		ids[attempt.MessageType] = attempt.MessageID
	}
	if len(ids) != 2 {
		t.Errorf("the messages are %v", ids)
	}
}

// TestDemo plays the demo as `make demo` does, then commands it by hand and removes it.
func TestDemo(t *testing.T) {
	timingtest.Parallel(t)
	dir := dataDir(t)
	d := upDemo(t, dir)
	done := d.await("done", 1)
	want := []string{
		"applied", "healthy", "broken", "incident", "triggered refused", "triggered delivered", "repaired", "resolved",
		"resolved delivered", "done",
	}
	if got := steps(d.seen()); !slices.Equal(got, want) {
		t.Errorf("the story is %v\nwant %v", got, want)
	}
	d.checkLines()
	figure(t, "the story takes, in seconds from ready", done.Seconds, 60, 0)
	if done.Incidents != 1 || done.Deliveries != 2 || done.Attempts != 3 {
		t.Errorf("the end says %+v", done)
	}
	checkMessages(t, d.seen("attempt"))
	if n := d.links(); n < 8 {
		t.Errorf("%d events have a link", n)
	}

	client := func(words ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), binary, words...)
		cmd.Env = append(os.Environ(), "VIGIL_DATA_DIR="+dir,
			"VIGIL_URL="+d.ready.APIURL, "VIGIL_API_KEY="+d.ready.APIKey, "XDG_CONFIG_HOME="+dir)
		said, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("vigil %v: %v\n%s", words, err, said)
		}
		return string(said)
	}
	client("demo", "break")
	d.await("incident", 2)
	client("demo", "repair")
	if again := d.await("done", 2); again.Incidents != 1 || again.Deliveries != 2 {
		t.Errorf("the second story says %+v", again)
	}

	// A start without the demo pauses its check, and the next one with it plays on.
	d.stop()
	plain := up(t, dir, freePorts(dir)...)
	d.ready.APIURL = plain.ready.APIURL
	if paused := client("check", "list", "--enabled=false", "-o", "name"); strings.Count(paused, "\n") != 1 {
		t.Errorf("without the demo these checks are paused: %q", paused)
	}
	plain.stop()
	key := d.ready.APIKey
	d = upDemo(t, dir)
	d.ready.APIKey = key
	d.await("done", 1)

	client("demo", "remove")
	d.await("removed", 1)
	if left := client("check", "list", "-o", "name") + client("channel", "list", "-o", "name"); left != "" {
		t.Errorf("left over is %q", left)
	}
	d.stop()
}

// TestDemoKilled kills the process while the shop is down: the story goes on with the same
// incident and the same message.
func TestDemoKilled(t *testing.T) {
	timingtest.Parallel(t)
	dir := dataDir(t)
	first := upDemo(t, dir)
	refused := first.await("attempt", 1)
	if err := first.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-first.exited
	second := upDemo(t, dir)
	done := second.await("done", 1)
	if done.Incidents != 1 || done.Deliveries != 2 {
		t.Errorf("the end says %+v", done)
	}
	if !slices.Contains(steps(second.seen()), "resumed") || len(second.seen("incident")) != 0 {
		t.Errorf("the story does not go on: %v", steps(second.seen()))
	}
	attempts := append([]demoEvent{refused}, second.seen("attempt")...)
	checkMessages(t, attempts)
	for _, attempt := range attempts {
		if attempt.IncidentID != refused.IncidentID {
			t.Errorf("a message is about %s, the incident was %s", attempt.IncidentID, refused.IncidentID)
		}
	}
	c := client{t: t, url: second.ready.APIURL, key: first.ready.APIKey}
	var incidents []struct {
		ID string `json:"id"`
	}
	c.into(&incidents, http.MethodGet, "/v1/incidents", nil)
	if len(incidents) != 1 || incidents[0].ID != refused.IncidentID {
		t.Errorf("the incidents are %+v", incidents)
	}
	var schedules []listedSchedule
	if c.into(&schedules, http.MethodGet, "/v1/drill-schedules", nil); len(schedules) != 0 {
		t.Errorf("the channel of the demo is drilled: %+v", schedules)
	}
	second.stop()

	// A finished story is played again, with another incident.
	third := upDemo(t, dir)
	if again := third.await("done", 1); again.IncidentID == refused.IncidentID || again.Incidents != 1 {
		t.Errorf("the story of the third start is %+v", again)
	}
	third.stop()
}

// TestDemoIsForThisMachine: an API that others can reach plays no demo.
func TestDemoIsForThisMachine(t *testing.T) {
	timingtest.Parallel(t)
	for _, setting := range []string{"VIGIL_LISTEN=0.0.0.0:0", "VIGIL_PUBLIC_URL=https://vigil.example.com"} {
		said := refused(t, append(freePorts(dataDir(t)), setting), "up", "--demo")
		if !strings.Contains(said, "--demo needs an API that only this machine can reach") {
			t.Errorf("with %s it says %s", setting, said)
		}
	}
}
