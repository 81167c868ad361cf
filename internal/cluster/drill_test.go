// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
)

// TestStreamIsComplete counts what a stream did not show once each, in order.
func TestStreamIsComplete(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ids    []string
		newest int64
		want   int64
	}{
		"All":            {[]string{"5-1", "5-2", "9-3"}, 3, 0},
		"LaterOnes":      {[]string{"5-1", "5-2", "9-3"}, 2, 0},
		"OneIsMissing":   {[]string{"5-1", "9-3"}, 3, 1},
		"OneIsRepeated":  {[]string{"5-1", "5-2", "5-2", "9-3"}, 3, 1},
		"TheLastMissing": {[]string{"5-1", "5-2"}, 3, 1},
		"None":           {nil, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var l listener
			for _, id := range test.ids {
				l.keep(id, true)
			}
			l.keep("9-99", false) // where a stream begins
			if got := l.missed(test.newest); got != test.want {
				t.Errorf("%d, want %d", got, test.want)
			}
		})
	}
}

// TestSlots holds that each slot is one result or missed.
func TestSlots(t *testing.T) {
	t.Parallel()
	const interval = 10 * time.Second
	from := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	schedule := vigil.Schedule{Start: from, Anchor: from, Interval: interval}
	for name, test := range map[string]struct {
		results, gaps                []int // by slot; slot 9 does not exist, and -1 was before the account
		stored, missed, wrong, quiet int   // quiet in seconds
	}{
		"AllStored": {results: []int{0, 1, 2, 3}, stored: 4},
		"LateFirst": {results: []int{-1, 2, 3}, gaps: []int{0, 1}, stored: 2, missed: 2, quiet: 20},
		"Before":    {results: []int{-3, -1, 0, 1, 2, 3}, stored: 4},
		"OneMissed": {results: []int{0, 1, 3}, gaps: []int{2}, stored: 3, missed: 1, quiet: 10},
		"Neither":   {results: []int{0, 1, 3}, stored: 3, wrong: 1, quiet: 10},
		"Both":      {results: []int{0, 1, 2, 3}, gaps: []int{2}, stored: 4, missed: 1, wrong: 1},
		"Twice":     {results: []int{0, 1, 1, 2, 3}, stored: 4, wrong: 1},
		"NoSlot":    {results: []int{0, 1, 2, 3, 9}, stored: 4, wrong: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := &observed{schedule: schedule, results: make(map[int64]int), gaps: make(map[int64]bool)}
			at := func(slot int) time.Time { return from.Add(time.Duration(slot) * interval) }
			for _, slot := range test.results {
				if slot >= 0 {
					o.results[at(slot).UnixMicro()]++
				}
				if slot != 9 {
					o.times = append(o.times, at(slot))
				}
			}
			for _, slot := range test.gaps {
				o.gaps[at(slot).UnixMicro()] = true
			}
			var s slots
			s.add(o, from, at(4))
			if s.Due != 4 || s.Stored != test.stored || s.Missed != test.missed || s.Wrong != test.wrong ||
				s.Silence != time.Duration(test.quiet)*time.Second {
				t.Errorf("%+v, want %+v", s, test)
			}
		})
	}
}

// TestRows holds that a stopped run goes on, and that a table has the worst figures.
func TestRows(t *testing.T) {
	t.Parallel()
	all, err := Matching(AllDrills(2, true), `^(history\|kill|api\|cut off\|)`)
	if err != nil || len(all) != 4 {
		t.Fatalf("%v, %v", all, err)
	}
	file := filepath.Join(t.TempDir(), "rows")
	for i, drill := range all[:2] {
		row := &Row{Drill: drill, Host: "history-1", WritesLost: i, slots: slots{
			Due: 10, Stored: 9, Missed: 1, Silence: time.Duration(i+1) * time.Second,
		}}
		if err := AppendRow(file, row); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := ReadRows(file)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%v, %v", rows, err)
	}
	if left := Left(all, rows); len(left) != 2 || left[0].What != "api" {
		t.Errorf("left are %v", left)
	}
	if wrong := append(rows[0].Wrong(), rows[1].Wrong()...); len(wrong) != 1 || wrong[0] != "1 acknowledged writes are gone" {
		t.Errorf("wrong is %q", wrong)
	}
	var table strings.Builder
	if err := WriteMarkdown(&table, rows); err != nil {
		t.Fatal(err)
	}
	const want = "| history | kill -9 | 2 | 20, 18, 2 | 2.0 s | 0.0 s, 0.0 s | 0.0 s | 1 acknowledged writes are gone |\n"
	if !strings.HasSuffix(table.String(), want) {
		t.Errorf("%s\nwant %s", table.String(), want)
	}
}

// TestAllDrills holds which drills there are, each once.
func TestAllDrills(t *testing.T) {
	t.Parallel()
	all := append(AllDrills(2, true), Upgrade())
	seen := make(map[string]bool)
	for _, drill := range all {
		if seen[drill.key()] {
			t.Errorf("%s is there twice", drill.key())
		}
		seen[drill.key()] = true
	}
	for _, key := range []string{
		"worker|cut off, in only|1", "history|cut off, out only|2", "relay|cut off for ten minutes|1", "history|one added|1",
		"history|one removed|2", "worker|to six, then to one|2", "temporal|restarted in turn|1", "temporal|upgraded in turn|1",
		"control and api|frozen|1", "temporal|certificates end and are exchanged|1", "vigil|certificates end and are exchanged|2",
		"vigil-postgres|certificates end and are exchanged|1", "proxy|certificates end and are exchanged|1",
		"primaries beside two of etcd|split into halves|1", "primaries beside one of etcd|split into halves|2",
		"vigil-postgres primary|disk full|1", "worker|clock 3 s ahead|1", "history|clock 90 s behind|2",
	} {
		if !seen[key] {
			t.Errorf("there is no %s", key)
		}
	}
	for _, drill := range AllDrills(1, false) {
		if strings.Contains(string(drill.Take), "cut off") || drill.Take == TakeSplit || drill.Take == TakeFull {
			t.Errorf("%s needs networks of hosts", drill.key())
		}
	}
}

// TestAnswers holds that what did not answer at all is away, too.
func TestAnswers(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	var a answers
	for _, second := range []int{0, 1, 4, 5} {
		a.note(at(second))
	}
	for _, test := range []struct{ now, want int }{{6, 3}, {7, 2}, {60, 55}} {
		if got := a.take(at(test.now)); got != time.Duration(test.want)*time.Second {
			t.Errorf("at %d it was away for %v, want %d s", test.now, got, test.want)
		}
	}
}
