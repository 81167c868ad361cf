// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"io"
	"strings"
)

const (
	gigabyte = 1e9
	terabyte = 1e12
)

// Print writes what a simulation found as a table for people.
func (out *Outcome) Print(to io.Writer, o Options) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d checks at %v from %d regions, %d workers of %d cores in each; one region simulated, seed %d\n",
		o.Checks, o.Interval, o.Regions, o.Workers, o.Cores, o.Seed)
	f := &out.Measured
	fmt.Fprintf(&b, "  one region, for %v\n", o.For)
	fmt.Fprintf(&b, "  slots                %d stored, %d missed\n", f.Results, f.Missed)
	fmt.Fprintf(&b, "  lateness             p50 %.1f ms, p99 %.1f ms, worst %.1f ms\n", f.Lateness.P50, f.Lateness.P99, f.Lateness.Max)
	fmt.Fprintf(&b, "  a second             %.0f results in %.0f transactions, %.2f turns\n",
		float64(f.Results)/f.Seconds, float64(f.Groups)/f.Seconds, float64(f.Turns)/f.Seconds)
	fmt.Fprintf(&b, "  cores                workers %.2f, Temporal %.2f and its store %.2f, results in Postgres %.2f\n",
		f.Worker, f.Temporal, f.Store, f.Database)
	out.Plan.print(&b)
	if out.Loss != nil {
		out.Loss.print(&b, o)
	}
	fmt.Fprintf(&b, "  whole simulation     %d slots due = %d stored + %d missed + %d open\n", out.Due, out.Stored, out.Missed, out.Open)
	_, err := io.WriteString(to, b.String())
	return err
}

func (p *Plan) print(b *strings.Builder) {
	fmt.Fprintf(b, "  all regions\n")
	fmt.Fprintf(b, "  loops                %d; %.0f results, %.0f turns and %.0f state transitions a second\n",
		p.Loops, p.Results, p.Turns, p.Transition)
	fmt.Fprintf(b, "  workers              %d hosts, %.1f cores used in all, %.1f GB of memory each\n",
		p.WorkerHosts, p.WorkerCores, p.WorkerMemory/gigabyte)
	fmt.Fprintf(b, "  Temporal             %.1f cores used, %.1f in its store; %d hosts of %d cores, half used with one lost\n",
		p.TemporalCores, p.StoreCores, p.HistoryHosts, p.HistoryCores)
	fmt.Fprintf(b, "  its memory, disk     %.1f GB in all for %d states in its caches, %.0f GB of histories a day\n",
		p.TemporalMemory/gigabyte, p.States, p.HistoryDay/gigabyte)
	fmt.Fprintf(b, "  results              %d databases, each %.0f rows a second, %.2f cores used, %.0f GB a day and %.0f GB of log\n",
		p.Databases, p.DatabaseRows, p.DatabaseCore, p.DatabaseDay/gigabyte, p.WALDay/gigabyte)
	fmt.Fprintf(b, "  results in all       %.1f TB a day\n", p.AllDay/terabyte)
}

func (l *LossFigures) print(b *strings.Builder, o Options) {
	what := "a host"
	switch l.What {
	case LoseZone:
		what = fmt.Sprintf("one of %d zones, and Postgres for %v", o.Zones, o.Failover)
	case LoseRegion:
		what = "the region"
	case LoseHost, LoseNothing:
	}
	if o.Away > 0 {
		what += fmt.Sprintf(", back after %v", o.Away)
	}
	fmt.Fprintf(b, "  lost: %s; the region in the %v after it\n", what, o.After)
	fmt.Fprintf(b, "  loops                %d lost; turns again p50 %.1f s, p99 %.1f s, last %.1f s; %d nudged through Temporal\n",
		l.Loops, l.Again.P50/1000, l.Again.P99/1000, l.Again.Max/1000, l.Nudged)
	fmt.Fprintf(b, "  slots                %d stored, %d of them more than 1 s late, %d missed; longest silence %.1f s beyond the interval\n",
		l.After.Results, l.LateSecond, l.After.Missed, l.Silence)
	fmt.Fprintf(b, "  lateness             p50 %.1f ms, p99 %.1f ms, worst %.1f s\n",
		l.After.Lateness.P50, l.After.Lateness.P99, l.After.Lateness.Max/1000)
	for _, open := range l.Opens {
		fmt.Fprintf(b, "  votes: %-9s     met p50 %.1f s, p99 %.1f s, worst %.1f s after a failure; without the loss %.1f, %.1f, %.1f s",
			open.Policy, open.Lost.P50, open.Lost.P99, open.Lost.Max, open.Usual.P50, open.Usual.P99, open.Usual.Max)
		if open.NotOpened > 0 {
			fmt.Fprintf(b, "; not met for %d", open.NotOpened)
		}
		b.WriteByte('\n')
	}
}
