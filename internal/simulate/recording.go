// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Recording is what one measurement of `vigil bench loops` found, as the file of costs has it. All figures are those of the
// measured time alone, after the loops had settled.
type Recording struct {
	At    time.Time `json:"at"`    // when the measurement ended
	Cores int       `json:"cores"` // of the machine, which all parts share
	// OtherCPU is the part of the machine's CPU time, 0 to 1, that other programs took meanwhile: where it is much, the
	// figures are those of a busy machine.
	OtherCPU float64 `json:"other_cpu"`

	Checks   int     `json:"checks"`
	Interval float64 `json:"interval_seconds"`
	Regions  int     `json:"regions"`
	TurnRate string  `json:"turn_rate"`      // VIGIL_TURN_RATE of the worker
	Window   float64 `json:"window_seconds"` // VIGIL_QUIET_WINDOW of the worker
	// Created is how long it took until each loop had a result, and Settled how long the loops ran before the measurement
	// after that, in seconds.
	Created float64 `json:"created_seconds"`
	Settled float64 `json:"settled_seconds"`
	Took    float64 `json:"measured_seconds"`

	Turns   int64 `json:"turns"`   // that ended
	Results int64 `json:"results"` // that were stored
	Groups  int64 `json:"groups"`  // transactions that stored them
	Missed  int64 `json:"missed"`  // slots that were found without a result

	Lateness Quantiles `json:"lateness_ms"`

	// The parts: CPU time of the measured time, and memory at its end.
	Worker   Part `json:"worker"`
	Temporal Part `json:"temporal"`
	Postgres Part `json:"postgres"`
	Target   Part `json:"target"`

	Transitions  int64 `json:"state_transitions"` // of Temporal
	ResultBytes  int64 `json:"result_bytes"`      // of all results on disk, with their indexes
	ResultRows   int64 `json:"result_rows"`       // that these bytes hold
	HistoryBytes int64 `json:"history_bytes"`     // by which Temporal's histories grew
	WALBytes     int64 `json:"wal_bytes"`         // that Postgres wrote for Vigil and Temporal together

	// Recovery is what followed when worker and Temporal were killed and started again; nil: they were not.
	Recovery *Recovery `json:"recovery,omitempty"`
}

// Recovery is what it took until every loop had its turn again on a new worker process, after a kill -9.
type Recovery struct {
	Took     float64 `json:"seconds"`
	Results  float64 `json:"all_have_results_seconds"`
	Worker   float64 `json:"worker_cpu_seconds"` // with the start of the process
	Postgres float64 `json:"postgres_cpu_seconds"`
}

// Quantiles of a lateness, in milliseconds.
type Quantiles struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Part is what one part of the platform has used.
type Part struct {
	CPU    float64 `json:"cpu_seconds"`
	Memory int64   `json:"memory_bytes"` // proportional set size
}

// Costs are the recordings of one machine.
type Costs struct {
	// Machine says which machine it was, for people.
	Machine string      `json:"machine"`
	Runs    []Recording `json:"runs"`
}

// ReadCosts reads a file of recordings. Its errors name the file and what is wrong with it.
func ReadCosts(path string) (Costs, error) {
	raw, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	if err != nil {
		return Costs{}, fmt.Errorf("read the costs: %w", err)
	}
	return ParseCosts(path, raw)
}

// ParseCosts is ReadCosts of a file that has been read; name is what its errors call it.
func ParseCosts(name string, raw []byte) (Costs, error) {
	var c Costs
	if err := json.Unmarshal(raw, &c); err != nil {
		return Costs{}, fmt.Errorf("%s is no file of costs, as `vigil bench loops --record` writes it: %w", name, err)
	}
	for i, run := range c.Runs {
		if run.Checks < 1 || !(run.Interval > 0) || !(run.Took > 0) || run.Results < 1 || run.Cores < 1 {
			return Costs{}, fmt.Errorf("%s: runs[%d] needs checks, interval_seconds, measured_seconds, results and cores above 0", name, i)
		}
	}
	if len(c.Runs) == 0 {
		return Costs{}, fmt.Errorf("%s has no runs: `vigil bench loops --record` adds them", name)
	}
	return c, nil
}

// AddRecording adds a recording to a file of costs, which it makes where there is none. machine is written into a new one.
func AddRecording(path, machine string, run Recording) error {
	c := Costs{Machine: machine}
	raw, err := os.ReadFile(path) //nolint:gosec // the operator names the file
	switch {
	case err == nil:
		if c, err = ParseCosts(path, raw); err != nil {
			return err
		}
	case !os.IsNotExist(err):
		return fmt.Errorf("read the costs: %w", err)
	}
	c.Runs = append(c.Runs, run)
	if raw, err = json.MarshalIndent(c, "", "  "); err != nil {
		return err
	}
	if err := os.WriteFile(path, append(raw, '\n'), 0o644); err != nil { //nolint:gosec // figures for everyone
		return fmt.Errorf("write the costs: %w", err)
	}
	return nil
}
