// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/internal/simulate"
)

// counted is what the worker has counted so far, by its own figures: only a recording asks for it, since a process without
// an address of metrics pays for none.
type counted struct {
	turns, groups, missed float64
}

// freeAddress is a loopback address that nothing has at the moment.
func freeAddress(ctx context.Context) (string, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// counts reads the figures of the worker, all 0 where it serves none.
func (s *cluster) counts(ctx context.Context) (counted, error) {
	var c counted
	if s.metrics == "" {
		return c, nil
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.metrics+"/metrics", nil)
	if err != nil {
		return c, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return c, fmt.Errorf("read the worker's figures: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	return countedIn(response.Body)
}

// countedIn adds up the figures of a page of /metrics.
func countedIn(page io.Reader) (counted, error) {
	var c counted
	lines := bufio.NewScanner(page)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		name, _, _ = strings.Cut(name, "{")
		into := map[string]*float64{
			"vigil_turns_total": &c.turns, "vigil_result_commit_rows_count": &c.groups, "vigil_slots_missed_total": &c.missed,
		}[name]
		if into == nil {
			continue
		}
		_, text, found := strings.Cut(lines.Text(), "} ")
		if !found {
			text = value
		}
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return c, fmt.Errorf("the figure %s: %w", name, err)
		}
		*into += n
	}
	return c, lines.Err()
}

// busyTime is the CPU time that the machine has spent on anything since it started.
func busyTime() (time.Duration, error) {
	raw, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	var busy int64
	for i, field := range strings.Fields(line) { // cpu user nice system idle iowait irq softirq steal
		if n, err := strconv.ParseInt(field, 10, 64); err == nil && i != 4 && i != 5 && i < 9 {
			busy += n
		}
	}
	return time.Duration(busy) * clockTick, nil
}

// resultsOnDisk is how many bytes all results take with their indexes, and how many they are.
func (s *cluster) resultsOnDisk(ctx context.Context) (size, rows int64, err error) {
	err = s.db.QueryRowContext(ctx, `
		SELECT (SELECT coalesce(sum(pg_total_relation_size(inhrelid)), 0)::bigint FROM pg_inherits WHERE inhparent = 'results'::regclass),
			(SELECT count(*) FROM results)`).Scan(&size, &rows)
	if err != nil {
		return 0, 0, fmt.Errorf("read the size of the results: %w", err)
	}
	return size, rows, nil
}

// recording is what a measurement found, as a file of costs has it.
func (s *cluster) recording(ctx context.Context, r report) (simulate.Recording, error) {
	took := r.after.at.Sub(r.before.at)
	part := func(now, then usage) simulate.Part {
		return simulate.Part{CPU: (now.cpu - then.cpu).Seconds(), Memory: now.mem}
	}
	run := simulate.Recording{
		At: r.after.at.UTC().Truncate(time.Second), Cores: r.cores,
		Checks: r.Loops, Interval: r.Interval.Seconds(), Regions: 1, TurnRate: r.TurnRate, Window: r.Window.Seconds(),
		Created: s.created.Seconds(), Settled: s.settled.Seconds(), Took: took.Seconds(),
		Turns: int64(r.after.counted.turns - r.before.counted.turns), Groups: int64(r.after.counted.groups - r.before.counted.groups),
		Missed: int64(r.after.counted.missed - r.before.counted.missed), Results: r.stored,
		Lateness: simulate.Quantiles{P50: r.lateP50, P90: r.lateP90, P99: r.lateP99, Max: r.lateMax},
		Worker:   part(r.after.vigil, r.before.vigil), Temporal: part(r.after.temporal, r.before.temporal),
		Postgres: part(r.after.pg, r.before.pg), Target: part(r.after.aimed, r.before.aimed),
		Transitions:  r.after.written.transitions - r.before.written.transitions,
		HistoryBytes: r.after.written.history - r.before.written.history,
		WALBytes:     r.after.written.wal - r.before.written.wal,
	}
	own := run.Worker.CPU + run.Temporal.CPU + run.Postgres.CPU + run.Target.CPU
	run.OtherCPU = max(0, (r.after.busy-r.before.busy).Seconds()-own) / (run.Took * float64(runtime.NumCPU()))
	var err error
	run.ResultBytes, run.ResultRows, err = s.resultsOnDisk(ctx)
	return run, err
}

// machine says which machine this is.
func machine() string {
	name := "an unknown processor"
	raw, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range strings.Lines(string(raw)) {
			if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == "model name" {
				name = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%d cores, %s", runtime.NumCPU(), name)
}
