// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/procfs"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// Cost is what a cluster took in a time.
type Cost struct {
	Checks  int
	Took    time.Duration
	Parts   map[Kind]PartCost
	Target  time.Duration // CPU time of the target
	Results int64         // that were stored
	Turns   float64       // that ended
	Late    []Late
}

// PartCost is what the hosts of a kind took, and have at the end.
type PartCost struct {
	Hosts  int
	CPU    time.Duration
	Memory int64 // bytes resident, shared ones divided among their sharers
}

// Late is how long after its slot a probe of a region began.
type Late struct {
	Region   string
	P50, P99 time.Duration
}

// reading is what there was until an instant.
type reading struct {
	at     time.Time
	parts  map[Kind]PartCost
	target time.Duration
	turns  float64
	// restarts are of programs that ended by themselves, whose time is not among the others.
	restarts int
}

// during measures a time in which nothing is done.
func (m *costs) during(ctx context.Context, d time.Duration) (*Cost, error) {
	return m.while(ctx, func(ctx context.Context) error { return timing.Sleep(ctx, d) })
}

// while measures what is taken while do runs.
func (m *costs) while(ctx context.Context, do func(context.Context) error) (*Cost, error) {
	before, err := m.read(ctx)
	if err != nil {
		return nil, err
	}
	if err := do(ctx); err != nil {
		return nil, err
	}
	after, err := m.read(ctx)
	if err != nil {
		return nil, err
	}
	if n := after.restarts - before.restarts; n > 0 {
		return nil, fmt.Errorf("%d programs ended by themselves meanwhile: see the logs in %s", n, m.c.path("logs"))
	}
	cost := &Cost{
		Took: after.at.Sub(before.at), Parts: after.parts, Target: after.target - before.target, Turns: after.turns - before.turns,
	}
	for kind, part := range cost.Parts {
		part.CPU -= before.parts[kind].CPU
		cost.Parts[kind] = part
	}
	rows, err := m.db.QueryContext(ctx, `
		SELECT region, count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY late), percentile_cont(0.99) WITHIN GROUP (ORDER BY late)
		FROM (SELECT region, extract(epoch FROM time - slot) AS late FROM results WHERE time >= $1 AND time < $2) AS stored
		GROUP BY region ORDER BY region`, before.at, after.at)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var late Late
		var stored int64
		var p50, p99 float64
		if err := rows.Scan(&late.Region, &stored, &p50, &p99); err != nil {
			return nil, err
		}
		late.P50, late.P99 = seconds(p50), seconds(p99)
		cost.Late, cost.Results = append(cost.Late, late), cost.Results+stored
	}
	return cost, rows.Err()
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// read adds up the processes of each kind of hosts, and the turns of the workers.
func (m *costs) read(ctx context.Context) (reading, error) {
	r := reading{at: time.Now(), parts: make(map[Kind]PartCost)}
	for _, h := range m.c.All() {
		cpu, memory, err := h.used()
		if err != nil {
			return r, err
		}
		r.restarts += h.Restarts()
		part := r.parts[h.Kind]
		r.parts[h.Kind] = PartCost{Hosts: part.Hosts + 1, CPU: part.CPU + cpu, Memory: part.Memory + memory}
		if h.Kind != KindWorker {
			continue
		}
		turns, err := turnsOf(ctx, "http://"+net.JoinHostPort(h.Address, "9090")+"/metrics")
		if err != nil {
			return r, fmt.Errorf("the figures of %s: %w", h.Name, err)
		}
		r.turns += turns
	}
	var err error
	r.target, _, err = m.target.used()
	return r, err
}

// clockTick is the unit of CPU time in /proc, for every architecture that Go runs on.
const clockTick = 10 * time.Millisecond

// used is the CPU time that the processes of the host have taken with those that ended, and their memory.
func (h *Host) used() (cpu time.Duration, memory int64, err error) {
	pids := h.Pids()
	if len(pids) == 0 {
		return 0, 0, fmt.Errorf("%s runs nothing", h.Name)
	}
	cpu, memory = usedBy(pids)
	return cpu, memory, nil
}

func usedBy(pids []int) (cpu time.Duration, memory int64) {
	for _, pid := range pids {
		proc, err := procfs.NewProc(pid)
		if err != nil {
			continue // it has ended meanwhile, and its parent has its time
		}
		stat, err := proc.Stat()
		if err != nil {
			continue
		}
		cpu += time.Duration(int(stat.UTime)+int(stat.STime)+stat.CUTime+stat.CSTime) * clockTick
		if mapped, err := proc.ProcSMapsRollup(); err == nil {
			memory += int64(mapped.Pss) //nolint:gosec // as above
		}
	}
	return cpu, memory
}

// turnsOf reads how many turns have ended on a worker, by its page of figures.
func turnsOf(ctx context.Context, url string) (turns float64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	var parser expfmt.TextParser
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		return 0, err
	}
	if families["vigil_turn_budget"] == nil {
		return 0, errors.New("there is no vigil_turn_budget, so it is not the page of a worker")
	}
	for _, metric := range families["vigil_turns_total"].GetMetric() { // none before the first turn has ended
		turns += metric.GetCounter().GetValue()
	}
	return turns, nil
}
