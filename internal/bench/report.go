// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// report is what one measurement found.
type report struct {
	LoopOptions
	cores            int
	before, after    costs
	turns            turnSlots // at the end
	stored, failed   int64
	lateP50, lateP90 float64 // milliseconds
	lateP99, lateMax float64
}

func (r report) print(w io.Writer) error {
	took := r.after.at.Sub(r.before.at)
	due := float64(r.Loops) * took.Seconds() / r.Interval.Seconds()
	vigil := r.after.vigil.cpu - r.before.vigil.cpu
	temporal := r.after.temporal.cpu - r.before.temporal.cpu
	postgres := r.after.pg.cpu - r.before.pg.cpu
	target := r.after.aimed.cpu - r.before.aimed.cpu
	all := vigil + temporal + postgres

	var b strings.Builder
	fmt.Fprintf(&b, "%d loops, interval %v, turns a second: %s, at most %v each, %d cores, measured for %v; the target is another process\n",
		r.Loops, r.Interval, r.TurnRate, r.Window, r.cores, took.Round(time.Second))
	fmt.Fprintf(
		&b,
		"  slots a turn         mean %.1f, of 90 %% of the loops %d at least, the most %d\n",
		r.turns.mean,
		r.turns.mostly,
		r.turns.most,
	)
	fmt.Fprintf(&b, "  due in that time     %8.0f   %8.1f /s\n", due, due/took.Seconds())
	fmt.Fprintf(&b, "  stored in Postgres   %8d   %8.1f /s   (%d of them failures)\n", r.stored, float64(r.stored)/took.Seconds(), r.failed)
	fmt.Fprintf(&b, "  lateness             p50 %.1f ms, p99 %.1f ms, worst %.1f ms\n", r.lateP50, r.lateP99, r.lateMax)
	if r.stored > 0 {
		each := func(d time.Duration) float64 { return d.Seconds() * 1000 / float64(r.stored) }
		fmt.Fprintf(&b, "  CPU a result         %.2f ms = vigil %.2f + temporal %.2f + postgres %.2f = %.1f times the target's %.2f\n",
			each(all), each(vigil), each(temporal), each(postgres), all.Seconds()/max(target.Seconds(), 0.01), each(target))
	}
	if r.stored > 0 {
		before, after := r.before.written, r.after.written
		transitions := float64(after.transitions-before.transitions) / float64(r.stored)
		fmt.Fprintf(
			&b,
			"  Temporal a result    %.2f state transitions, %.0f bytes on disk, %.0f of them history; %.0f bytes of log with Vigil's own\n",
			transitions,
			float64(after.bytes-before.bytes)/float64(r.stored),
			float64(after.history-before.history)/float64(r.stored),
			float64(after.wal-before.wal)/float64(r.stored),
		)
	}
	fmt.Fprintf(&b, "  CPU of the machine   %.0f %%\n", 100*all.Seconds()/took.Seconds()/float64(r.cores))
	fmt.Fprintf(&b, "  resident memory      vigil %d MiB, temporal %d MiB, postgres %d MiB\n",
		r.after.vigil.mem>>20, r.after.temporal.mem>>20, r.after.pg.mem>>20)
	fmt.Fprintf(&b, "  row                  %s\n\n", r.row(all, target, took))
	_, err := io.WriteString(w, b.String())
	return err
}

// row is the line of the table in docs/benchmarks.md.
func (r report) row(all, target, took time.Duration) string {
	results := max(float64(r.stored), 1)
	where := "a process for each part"
	if r.InOne {
		where = "vigil up"
	}
	memory := r.after.vigil.mem + r.after.temporal.mem + r.after.pg.mem
	return fmt.Sprintf("| %d at %v, %s | %.1f ms = %.1f x %.2f ms | %.1f %% of %d cores | %d | %.0f ms | %d MiB | %d of %.0f |",
		r.Loops, r.Interval, where, 1000*all.Seconds()/results, all.Seconds()/max(target.Seconds(), 0.01), 1000*target.Seconds()/results,
		100*all.Seconds()/took.Seconds()/float64(r.cores), r.cores, r.turns.mostly, r.lateP99, memory>>20,
		r.stored, float64(r.Loops)*took.Seconds()/r.Interval.Seconds())
}
