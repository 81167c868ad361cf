// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// CostReport is what MeasureCosts found.
type CostReport struct {
	Options CostOptions
	Rest    *Cost // without checks
	With    []*Cost
	// BeforeIncidents is with the checks that fail then, and Incidents while they do; nil: none were opened.
	BeforeIncidents, Incidents *Cost
}

// kindsOfCosts are the parts in the order in which a report has them.
func kindsOfCosts() []Kind {
	return []Kind{
		KindWorker, KindControl, KindAPI, KindVigilPostgres, KindFrontend, KindHistory, KindMatching, KindTemporalWorker,
		KindTemporalPostgres, KindProxy, KindRelay, KindEtcd, KindAgent,
	}
}

// WriteMarkdown writes a table for each number of checks. CPU time is what a part takes beyond that at rest.
func (r *CostReport) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	for _, with := range r.With {
		r.table(&b, with)
	}
	if r.Incidents != nil {
		r.incidents(&b)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// beyond is the CPU time of a part in a time, less what it takes in that time otherwise.
func beyond(cost, otherwise *Cost, kind Kind) time.Duration {
	part := float64(otherwise.Parts[kind].CPU) * float64(cost.Took) / float64(otherwise.Took)
	return cost.Parts[kind].CPU - time.Duration(part)
}

// each is milliseconds for each of n.
func each(d time.Duration, n float64) float64 { return 1000 * d.Seconds() / max(n, 1) }

func (r *CostReport) table(b *strings.Builder, with *Cost) {
	ofCore := func(c *Cost, cpu time.Duration) float64 { return 100 * cpu.Seconds() / c.Took.Seconds() }
	fmt.Fprintf(b, "%d checks at %v for %v: %d results, %.0f turns; the target took %.2f ms of CPU for a result\n\n",
		with.Checks, r.Options.Interval, with.Took.Round(time.Second), with.Results, with.Turns, each(with.Target, float64(with.Results)))
	b.WriteString(
		"| part | hosts | CPU at rest, with checks | more for a result | for a turn | memory at rest, with checks | more for a loop |\n" +
			"|---|---|---|---|---|---|---|\n",
	)
	row := func(name string, hosts int, rest, now, more time.Duration, restMemory, memory int64) {
		fmt.Fprintf(b, "| %s | %d | %.1f, %.1f %% of a core | %.2f ms | %.1f ms | %d, %d MiB | %.1f KiB |\n", name, hosts,
			ofCore(r.Rest, rest), ofCore(with, now), each(more, float64(with.Results)), each(more, with.Turns),
			restMemory>>20, memory>>20, float64(memory-restMemory)/1024/float64(max(with.Checks, 1)))
	}
	var all struct {
		hosts              int
		rest, now, more    time.Duration
		restMemory, memory int64
	}
	for _, kind := range kindsOfCosts() {
		part, rest := with.Parts[kind], r.Rest.Parts[kind]
		if part.Hosts == 0 {
			continue
		}
		more := beyond(with, r.Rest, kind)
		row(string(kind), part.Hosts, rest.CPU, part.CPU, more, rest.Memory, part.Memory)
		all.hosts, all.rest, all.now, all.more = all.hosts+part.Hosts, all.rest+rest.CPU, all.now+part.CPU, all.more+more
		all.restMemory, all.memory = all.restMemory+rest.Memory, all.memory+part.Memory
	}
	row("all", all.hosts, all.rest, all.now, all.more, all.restMemory, all.memory)
	b.WriteString("\n| region | late p50, p99 |\n|---|---|\n")
	for _, late := range with.Late {
		fmt.Fprintf(b, "| %s | %.1f, %.1f ms |\n", late.Region, 1000*late.P50.Seconds(), 1000*late.P99.Seconds())
	}
	b.WriteString("\n")
}

// incidents writes what each of them took beyond the checks that go on.
func (r *CostReport) incidents(b *strings.Builder) {
	n := float64(r.Options.Incidents)
	fmt.Fprintf(b, "%d incidents that were opened at once and resolved, in %v\n\n| part | for an incident |\n|---|---|\n",
		r.Options.Incidents, r.Incidents.Took.Round(time.Second))
	var all time.Duration
	for _, kind := range kindsOfCosts() {
		if r.Incidents.Parts[kind].Hosts == 0 {
			continue
		}
		more := beyond(r.Incidents, r.BeforeIncidents, kind)
		all += more
		fmt.Fprintf(b, "| %s | %.1f ms |\n", kind, each(more, n))
	}
	fmt.Fprintf(b, "| all | %.1f ms |\n\n", each(all, n))
}
