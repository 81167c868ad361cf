// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/vigil-monitor/vigil/internal/console"
	"github.com/vigil-monitor/vigil/internal/demo"
)

// Summary describes a started platform; scripts read its JSON.
type Summary struct {
	APIURL          string `json:"api_url"`
	DocsURL         string `json:"docs_url"`
	TemporalUIURL   string `json:"temporal_ui_url"`
	TemporalAddress string `json:"temporal_address"`
	Namespace       string `json:"namespace"`
	MetricsURL      string `json:"metrics_url,omitempty"`
	APIKey          string `json:"api_key,omitempty"`     // first start only
	SignInURL       string `json:"sign_in_url,omitempty"` // valid once, for 10 minutes, on this machine
	DemoURL         string `json:"demo_url,omitempty"`    // the shop of --demo
	DataDir         string `json:"data_dir"`
	PID             int    `json:"pid"`

	// region and target are those of the example check.
	region, target string
	// context is the context of the client commands that has the key, "" for none.
	Context string
}

// Screen shows the progress of the start, one line for each step with its duration. For
// scripts, standard output has one line of JSON once everything is ready, and the
// progress goes to standard error.
type Screen struct {
	out, people io.Writer
	json        bool
	Login       bool // the first key is saved for the client commands
	WithDemo    bool
	logFile     string // where the log is; "" is standard error
	logTo       io.Writer
	began       time.Time
	mu          sync.Mutex

	// While steps run, the progress shows which.
	Console  *console.Console
	running  []string
	progress *console.Progress
}

// NewScreen returns the screen of `vigil up`; with asJSON it writes one line of JSON once ready.
func NewScreen(out, errOut io.Writer, asJSON bool) *Screen {
	s := &Screen{out: out, people: out, json: asJSON, began: time.Now(), Console: console.Open(nil, out, errOut, time.Now)}
	if asJSON {
		s.people = errOut
	}
	return s
}

// Step runs one part of the start and prints the text that it returns. Parts may run at the
// same time.
func (s *Screen) Step(name string, run func() (string, error)) error {
	s.begin(name)
	began := time.Now()
	what, err := run()
	line := ""
	if err == nil {
		line = fmt.Sprintf("  %-10s %-44s %6.2f s\n", name, what, time.Since(began).Seconds())
	}
	return errors.Join(err, s.end(name, line))
}

// begin shows that a part starts.
func (s *Screen) begin(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.progress == nil {
		s.progress = s.Console.Progress("starting")
	}
	s.running = append(s.running, name)
	s.progress.Set("  starting %s", strings.Join(s.running, " and "))
}

// end shows that a part has started, by a line, or that it failed.
func (s *Screen) end(name, line string) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = slices.DeleteFunc(s.running, func(running string) bool { return running == name })
	if len(s.running) == 0 {
		s.progress.Done()
	}
	s.progress.Set("  starting %s", strings.Join(s.running, " and "))
	s.progress.Above(func() { _, err = io.WriteString(s.people, line) })
	if len(s.running) == 0 {
		s.progress = nil
	}
	return err
}

// Logs returns a writer of log lines, which stand above the progress.
func (s *Screen) Logs(w io.Writer) io.Writer { return screenLogs{s, w} }

type screenLogs struct {
	screen *Screen
	w      io.Writer
}

// Write writes a line.
func (l screenLogs) Write(line []byte) (n int, err error) {
	l.screen.mu.Lock()
	defer l.screen.mu.Unlock()
	if l.screen.logTo != nil {
		return l.screen.logTo.Write(line)
	}
	if l.screen.progress == nil {
		return l.w.Write(line)
	}
	return l.screen.progress.Over(l.w).Write(line)
}

// LogName is the file of the data directory that has the log while a demo is shown.
const LogName = "vigil.log"

// KeepLogs writes the log into a file of the data directory from now on when people watch a
// demo: lines between its own would tear them apart.
func (s *Screen) KeepLogs(p *Process, dataDir string) error {
	if !s.WithDemo || s.json {
		return nil
	}
	path := filepath.Join(dataDir, LogName)
	//nolint:gosec // in our own directory
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND|os.O_TRUNC|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return fmt.Errorf("open the file of the log: %w", err)
	}
	s.mu.Lock()
	s.logFile, s.logTo = path, file
	s.mu.Unlock()
	p.onStop(func(context.Context) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.logTo = nil
		_ = file.Close()
	})
	return nil
}

// Note prints a line.
func (s *Screen) Note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = fmt.Fprintf(s.people, "  %s\n", text)
}

// Ready prints the addresses, the API key and the next steps.
func (s *Screen) Ready(sum Summary) error {
	if s.json {
		return json.NewEncoder(s.out).Encode(sum)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\nVigil is up after %.1f s. Ctrl-C stops it.\n\n", time.Since(s.began).Seconds())
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %-12s %s\n", name, value)
		}
	}
	if sum.SignInURL != "" {
		line("Sign in", sum.SignInURL)
		line("", "signs you in on this machine, once, within 10 minutes; `vigil login-link` prints another")
	}
	line("API", sum.APIURL)
	line("Docs", sum.DocsURL)
	line("Temporal UI", sum.TemporalUIURL)
	line("Metrics", sum.MetricsURL)
	line("Data", sum.DataDir)
	line("Log", s.logFile)
	key := sum.APIKey
	if key != "" {
		line("API key", key)
		line("", "shown once; `vigil keys create` makes another")
		if sum.Context != "" {
			line("", "saved as context "+sum.Context+": `vigil status` works in another terminal")
		}
	} else {
		key = "$VIGIL_API_KEY"
		line("API key", "as printed at the first start; `vigil keys create` makes another")
	}
	if s.WithDemo {
		b.WriteString(demoBegins)
	} else {
		b.WriteString(firstCheck(sum, key))
	}
	_, err := io.WriteString(s.out, b.String())
	return err
}

const demoBegins = `
Demo: a shop on this machine that fails and recovers, checked every few seconds,
and a receiver that refuses its first message.

`

const demoEnds = `
Kill this process while the shop is down and start it again: the story goes on.
  vigil demo break      break the shop again
  vigil demo repair     repair it
  vigil tail            the same events, live
  vigil demo remove     take it all away

`

// Demo shows what happened in the demo: a line, in JSON for scripts.
func (s *Screen) Demo(event demo.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.json {
		_ = json.NewEncoder(s.out).Encode(event)
		return
	}
	_, _ = fmt.Fprintln(s.out, event.Line(s.Console.Width))
	if event.Kind == demo.KindDone {
		_, _ = io.WriteString(s.out, demoEnds)
	}
}

// firstCheck are lines to paste, which create a check and show its results.
func firstCheck(sum Summary, key string) string {
	if sum.Context != "" {
		return fmt.Sprintf(`
Create a check, then get its results:

  vigil check create %s --name "My first check" --interval 10s --region %s; sleep 2
  vigil check results "My first check"

`, sum.target, sum.region)
	}
	return fmt.Sprintf(`
Create a check, then get its results:

  ID=$(curl -s %[1]s/v1/checks -H "Authorization: Bearer %[2]s" -H "Content-Type: application/json" `+
		`-d '{"name":"My first check","type":"http","interval_seconds":10,"regions":["%[3]s"],"config":{"url":"%[4]s"}}`+
		`' | grep -o '"id":"[^"]*' | head -1 | cut -c7-); sleep 2
  curl -s %[1]s/v1/checks/$ID/results -H "Authorization: Bearer %[2]s"

`, sum.APIURL, key, sum.region, sum.target)
}
