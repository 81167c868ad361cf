// SPDX-License-Identifier: Apache-2.0

package console_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vigil-monitor/vigil/internal/console"
)

// progressed returns what a progress writes to standard error while a function runs. Time
// passes as in the function's sleeps.
func progressed(t *testing.T, terminal bool, during func(*console.Progress, *bytes.Buffer)) string {
	t.Helper()
	var out bytes.Buffer
	synctest.Test(t, func(*testing.T) {
		con := &console.Console{Err: &out, ErrTTY: terminal, Now: time.Now}
		p := con.Progress("reading %d", 1)
		during(p, &out)
		p.Done()
		p.Done()
	})
	return out.String()
}

// sleep: progressed runs its function in a bubble.
func TestProgress(t *testing.T) {
	t.Parallel()
	t.Run("SaysNothingOfWhatTakesLessThanASecond", func(t *testing.T) {
		t.Parallel()
		for _, terminal := range []bool{true, false} {
			out := progressed(t, terminal, func(*console.Progress, *bytes.Buffer) { time.Sleep(900 * time.Millisecond) })
			if out != "" {
				t.Errorf("shows %q", out)
			}
		}
	})
	t.Run("MovesOnATerminalAndIsGoneAtTheEnd", func(t *testing.T) {
		t.Parallel()
		out := progressed(t, true, func(p *console.Progress, _ *bytes.Buffer) {
			time.Sleep(1600 * time.Millisecond)
			p.Set("reading %d", 2)
			time.Sleep(time.Second)
		})
		const want = "|reading 1 (1s)|reading 1 (1s)|reading 1 (1s)|reading 2 (1s)|reading 2 (2s)|reading 2 (2s)|reading 2 (2s)|"
		if got := strings.ReplaceAll(out, "\r\x1b[K", "|"); got != want {
			t.Errorf("shows %q, want %q", got, want)
		}
	})
	t.Run("IsALineEveryTenSecondsInAPipe", func(t *testing.T) {
		t.Parallel()
		out := progressed(t, false, func(*console.Progress, *bytes.Buffer) { time.Sleep(31 * time.Second) })
		if want := "reading 1 (10s)\nreading 1 (20s)\nreading 1 (30s)\n"; out != want {
			t.Errorf("shows %q, want %q", out, want)
		}
	})
	t.Run("LetsLinesStandAboveIt", func(t *testing.T) {
		t.Parallel()
		out := progressed(t, true, func(p *console.Progress, out *bytes.Buffer) {
			time.Sleep(1100 * time.Millisecond)
			p.Above(func() { out.WriteString("first\n") })
			if n, err := p.Over(out).Write([]byte("second\n")); n != 7 || err != nil {
				t.Errorf("writes %d bytes, %v", n, err)
			}
			time.Sleep(200 * time.Millisecond)
		})
		if want := "\r\x1b[Kreading 1 (1s)\r\x1b[Kfirst\nsecond\n\r\x1b[Kreading 1 (1s)\r\x1b[K"; out != want {
			t.Errorf("shows %q, want %q", out, want)
		}
	})
	t.Run("IsSilentWhenTheConsoleIs", func(t *testing.T) {
		t.Parallel()
		var out bytes.Buffer
		synctest.Test(t, func(*testing.T) {
			p := (&console.Console{Err: &out, ErrTTY: true, Quiet: true, Now: time.Now}).Progress("reading")
			time.Sleep(time.Minute)
			p.Done()
		})
		if out.Len() > 0 {
			t.Errorf("shows %q", out.String())
		}
	})
}

// Remarks are broken into lines on a terminal, and are rows elsewhere.
func TestRemarks(t *testing.T) {
	t.Parallel()
	remarks := console.Remarks{
		{State: console.Word("ok").Toned(console.Good), Name: "api", Text: "answers"},
		{
			State: console.Word("fail"), Name: "regions", Text: "3 checks use af-south-jnb, which no\x1b[2J worker serves",
			Hints: []string{"one", "two"},
		},
	}
	var out bytes.Buffer
	con := &console.Console{Out: &out, Err: &out, Format: console.Table, OutTTY: true, Width: 36, Now: time.Now}
	if err := con.Print(console.Answer{Parts: []console.Part{remarks}}); err != nil {
		t.Fatal(err)
	}
	want := "  ok    api      answers\n" +
		"  fail  regions  3 checks use\n" +
		"                 af-south-jnb, which\n" +
		"                 no[2J worker serves\n" +
		"                 -> one\n" +
		"                 -> two\n"
	if out.String() != want {
		t.Errorf("shows\n%s\nwant\n%s", out.String(), want)
	}
	out.Reset()
	con.OutTTY = false
	if err := con.Print(console.Answer{Parts: []console.Part{remarks}}); err != nil {
		t.Fatal(err)
	}
	want = "ok\tapi\tanswers\t\nfail\tregions\t3 checks use af-south-jnb, which no[2J worker serves\tone   or   two\n"
	if out.String() != want {
		t.Errorf("prints %q, want %q", out.String(), want)
	}
}
