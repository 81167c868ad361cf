// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/console"

	"github.com/vigil-monitor/vigil/internal/platform"
)

// A command that takes long shows in a pipe what it is at, a line every ten seconds, and its
// own lines as they are.
func TestLong(t *testing.T) {
	t.Parallel()
	var out, errOut bytes.Buffer
	failure := errors.New("no")
	synctest.Test(t, func(*testing.T) {
		cmd := long(&cobra.Command{Use: "x", SilenceErrors: true, SilenceUsage: true, RunE: func(cmd *cobra.Command, _ []string) error {
			time.Sleep(11 * time.Second)
			stage(cmd.Context(), "dumping the database %s", "vigil")
			time.Sleep(10 * time.Second)
			_, _ = io.WriteString(cmd.OutOrStdout(), "done\n")
			_, _ = io.WriteString(cmd.ErrOrStderr(), "a warning\n")
			return failure
		}}, "reading")
		cmd.SetArgs(nil)
		cmd.SetOut(&out)
		cmd.SetErr(&errOut)
		if err := cmd.ExecuteContext(t.Context()); !errors.Is(err, failure) {
			t.Errorf("the command ends with %v", err)
		}
	})
	if out.String() != "done\n" || errOut.String() != "reading (10s)\ndumping the database vigil (20s)\na warning\n" {
		t.Errorf("prints %q and %q", out.String(), errOut.String())
	}
}

// The build of make keeps what the compiler says, and its exit code; the packages that it
// compiles are only counted.
func TestBuildProgress(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "../../.ci/progress", "Building", "sh", "-c",
		"echo vigil/api >&2; echo './x.go:1:2: an error' >&2; echo out; exit 3")
	cmd.Stdout, cmd.Stderr = &out, &errOut
	ended, ok := errors.AsType[*exec.ExitError](cmd.Run())
	if !ok || ended.ExitCode() != 3 || out.String() != "out\n" || errOut.String() != "./x.go:1:2: an error\n" {
		t.Errorf("ends with %v, prints %q and %q", ended, out.String(), errOut.String())
	}
}

// The start shows which parts are being started while they take their time, on a terminal in
// a line that makes room for those of the parts and of the log.
func TestScreenSteps(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		show := platform.NewScreen(&out, &out, false)
		show.Console = &console.Console{Err: &out, ErrTTY: true, Now: time.Now}
		both := make(chan error)
		go func() {
			both <- show.Step("Database", func() (string, error) {
				time.Sleep(3 * time.Second)
				return "migrated", nil
			})
		}()
		synctest.Wait()
		err := show.Step("Temporal", func() (string, error) {
			time.Sleep(1600 * time.Millisecond)
			_, _ = io.WriteString(show.Logs(&out), "level=WARN\n")
			return "embedded", nil
		})
		if err = errors.Join(err, <-both); err != nil {
			t.Error(err)
		}
		failure := errors.New("no")
		if err := show.Step("Workers", func() (string, error) { return "", failure }); !errors.Is(err, failure) {
			t.Errorf("a part that fails ends with %v", err)
		}
		_, _ = io.WriteString(show.Logs(&out), "level=INFO\n")
	})
	for _, want := range []string{
		"\r\x1b[K  starting Database and Temporal (1s)\r\x1b[Klevel=WARN\n",
		"  Temporal   embedded                                       1.60 s\n\r\x1b[K  starting Database (",
		"\r\x1b[K  Database   migrated                                       3.00 s\nlevel=INFO\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("shows %q, without %q", out.String(), want)
		}
	}
}
