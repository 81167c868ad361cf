// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/vigil-monitor/vigil/internal/demo"
	"github.com/vigil-monitor/vigil/internal/instance"
	"github.com/vigil-monitor/vigil/internal/standalone"

	"github.com/vigil-monitor/vigil/internal/platform"
)

// An address that cannot be listened on is explained with what helps.
func TestListenErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err   syscall.Errno
		wants []string
	}{
		{syscall.EACCES, []string{"0.0.0.0:80", "below 1024", "plain user", "VIGIL_LISTEN", "setcap", "reverse proxy"}},
		{syscall.EADDRINUSE, []string{"in use", "VIGIL_LISTEN", "free"}},
		{syscall.EADDRNOTAVAIL, []string{"this machine does not have the address", "VIGIL_LISTEN"}},
	} {
		err := platform.ListenError("0.0.0.0:80", "VIGIL_LISTEN", &net.OpError{Op: "listen", Err: os.NewSyscallError("bind", tt.err)})
		for _, want := range tt.wants {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %q lacks %q", tt.err, err, want)
			}
		}
	}
}

// A second start on a data directory learns where the first one is.
func TestSecondUpSaysWhereTheFirstIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, err := standalone.OpenDataDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer data.Close()
	second := func() string {
		var out, errs bytes.Buffer
		if code := run(t.Context(), []string{"up", "--data-dir", dir, "--listen", "127.0.0.1:0"}, &out, &errs); code != 1 {
			t.Errorf("ends with %d", code)
		}
		return errs.String()
	}
	if said := second(); !strings.Contains(said, "in use by another vigil") {
		t.Errorf("while the first starts: %s", said)
	}
	if err := instance.SaveInstance(data.Path(), instance.Instance{APIURL: "http://127.0.0.1:18080", PID: os.Getpid()}); err != nil {
		t.Fatal(err)
	}
	said := second()
	for _, want := range []string{"runs already", "http://127.0.0.1:18080", "process ", data.Path()} {
		if !strings.Contains(said, want) {
			t.Errorf("%q lacks %q", said, want)
		}
	}
}

// The command that starts a restored directory names it unless it is the usual one.
func TestStartCommand(t *testing.T) {
	t.Parallel()
	if got := startCommand("/srv/vigil"); got != "vigil up --data-dir /srv/vigil" {
		t.Errorf("got %s", got)
	}
	if got := startCommand("/srv/it's here"); got != `vigil up --data-dir '/srv/it'\''s here'` {
		t.Errorf("got %s", got)
	}
	standard := defaultDataDir()
	if resolved, err := filepath.EvalSymlinks(standard); err == nil {
		standard = resolved
	}
	if got := startCommand(standard); got != "vigil up" {
		t.Errorf("got %s", got)
	}
}

// Misspelled commands and flags say what was probably meant, with the exit code for a wrong
// command line.
func TestSuggestions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, want string }{
		{"chekc", "did you mean `check`?"},
		{"check lst", "`list`"},
		{"deplyment", "`deployment`"},
		{"keys creat", "`create`"},
		{"check list --contxt x", "did you mean `--context`?"},
		{"up --listn :0", "`--listen`"},
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), strings.Fields(tt.args), &out, &errs)
		if code != 2 || !strings.Contains(errs.String(), tt.want) || out.Len() > 0 {
			t.Errorf("vigil %s: %d %s%s", tt.args, code, errs.String(), out.String())
		}
	}
	var out, errs bytes.Buffer
	if run(t.Context(), []string{"carrier-pigeon"}, &out, &errs); strings.Contains(errs.String(), "did you mean") {
		t.Errorf("something else is suggested: %s", errs.String())
	}
}

// While people watch a demo the log goes to a file, whose path is said; scripts read it on
// standard error as always.
func TestLogOfTheDemo(t *testing.T) {
	t.Parallel()
	for _, asJSON := range []bool{false, true} {
		dir := t.TempDir()
		var out, errs bytes.Buffer
		show := platform.NewScreen(&out, &errs, asJSON)
		show.WithDemo = true
		log := platform.NewLogger(show.Logs(&errs), 0)
		p := platform.NewProcess(log, thisProgram())
		if err := show.KeepLogs(p, dir); err != nil {
			t.Fatal(err)
		}
		log.Warn("in the way")
		if err := show.Ready(platform.Summary{DataDir: dir}); err != nil {
			t.Fatal(err)
		}
		show.Demo(demo.Event{Kind: demo.KindHealthy, Text: "every region"})
		p.Stop(t.Context())
		file, _ := os.ReadFile(filepath.Join(dir, platform.LogName))
		if torn := strings.Contains(errs.String(), "in the way"); torn != asJSON || strings.Contains(string(file), "in the way") == asJSON {
			t.Errorf("JSON %v: standard error %q, the file %q", asJSON, errs.String(), file)
		}
		if !asJSON && !strings.Contains(out.String(), filepath.Join(dir, platform.LogName)) {
			t.Errorf("the file is not said: %s", out.String())
		}
		if asJSON && !json.Valid(bytes.SplitN(out.Bytes(), []byte("\n"), 2)[0]) {
			t.Errorf("the first line is %s", out.String())
		}
	}
}

// Every role fails on a port in use before it starts anything.
func TestMetricsPortTaken(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	address := taken.Addr().String()
	for _, role := range [][]string{{"up", "--listen", "127.0.0.1:0"}, {"api"}, {"worker", "--control"}, {"temporal"}} {
		stdout, stderr, code := vigilRun(t, append(role, "--metrics-listen", address, "--data-dir", t.TempDir(),
			"--database-url", "postgres://someone@127.0.0.1:1/nothing", "--temporal-address", "127.0.0.1:1",
			"--secret-key", strings.Repeat("ab", 32))...)
		want := "vigil: cannot listen on " + address + ": bind: address already in use; set VIGIL_METRICS_LISTEN to an address that is free\n"
		if code != 1 || stderr != want || stdout != "" {
			t.Errorf("vigil %s ends with %d and says %q", role[0], code, stderr)
		}
	}
}
