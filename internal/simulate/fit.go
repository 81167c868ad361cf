// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"errors"
	"math"
	"time"
)

// Work is what the work of one part of the platform takes, in seconds of a core.
type Work struct {
	Rest   float64 `json:"rest"`   // each second, with or without checks
	Result float64 `json:"result"` // each result
	Wake   float64 `json:"wake"`   // each result that finds the process asleep, beside
	Group  float64 `json:"group"`  // each transaction that stores results
	Turn   float64 `json:"turn"`   // each turn
}

// of is what so much work takes, in seconds of a core.
func (w Work) of(seconds, results, wakes, groups, turns float64) float64 {
	return w.Rest*seconds + w.Result*results + w.Wake*wakes + w.Group*groups + w.Turn*turns
}

// Memory is what a part holds, in bytes.
type Memory struct {
	Rest float64 `json:"rest"` // without loops
	Loop float64 `json:"loop"` // for each loop; of Temporal, for each whose state it keeps in memory
}

// Model is what a recording says that each kind of work costs, and how late a slot is that has no other beside it.
type Model struct {
	Worker   Work `json:"worker"`
	Temporal Work `json:"temporal"`
	Postgres Work `json:"postgres"`
	Target   Work `json:"target"`

	Adopt Adoption `json:"adopt"`

	WorkerMemory   Memory `json:"worker_memory"`
	TemporalMemory Memory `json:"temporal_memory"`
	PostgresMemory Memory `json:"postgres_memory"`

	Timer       time.Duration `json:"timer_ns"`     // the median lateness of the run with the fewest results a second
	RowBytes    float64       `json:"row_bytes"`    // of a result on disk with its indexes
	WALBytes    float64       `json:"wal_bytes"`    // that Postgres writes for a result, with Temporal's part in it
	Transitions float64       `json:"transitions"`  // of Temporal for a turn
	HistoryTurn float64       `json:"turn_history"` // bytes of history that a turn adds
}

// Adoption is what a turn costs at most that another worker adopts, in seconds of a core: the new process starts in it too.
type Adoption struct {
	Worker   float64 `json:"worker"`
	Postgres float64 `json:"postgres"`
}

// wakeAfter is after how long without work a process counts as asleep: its threads sleep and its caches are others'. Requests
// at 5, 100 and 1,000 a second, docs/benchmarks.md, differ as if it were so long.
const wakeAfter = 2 * time.Millisecond

// statesKept is how many states of loops the embedded Temporal of a recording keeps in memory at most.
const statesKept = 6000

// Fit returns the costs that explain the recordings best. Each run counts by the part by which it is missed, not by the
// seconds, and no cost is below 0. It needs two runs at least that differ in their results a second.
func Fit(runs []Recording) (Model, error) {
	var m Model
	if len(runs) < 2 {
		return m, errors.New("the costs need two runs at least, of different numbers of checks")
	}
	rows := make([][]float64, len(runs))
	least := runs[0]
	for i, r := range runs {
		rate := float64(r.Results) / r.Took
		wakes := float64(r.Results) * math.Exp(-rate*wakeAfter.Seconds())
		rows[i] = []float64{r.Took, float64(r.Results), wakes, float64(r.Groups), float64(r.Turns)}
		if rate < float64(least.Results)/least.Took {
			least = r
		}
	}
	cpu := func(part func(*Recording) float64) Work {
		want := make([]float64, len(runs))
		for i := range runs {
			want[i] = part(&runs[i])
		}
		x := leastSquares(rows, want)
		return Work{Rest: x[0], Result: x[1], Wake: x[2], Group: x[3], Turn: x[4]}
	}
	m.Worker = cpu(func(r *Recording) float64 { return r.Worker.CPU })
	m.Temporal = cpu(func(r *Recording) float64 { return r.Temporal.CPU })
	m.Postgres = cpu(func(r *Recording) float64 { return r.Postgres.CPU })
	m.Target = cpu(func(r *Recording) float64 { return r.Target.CPU })
	memory := func(most int, part func(*Recording) int64) Memory {
		rows, want := make([][]float64, len(runs)), make([]float64, len(runs))
		for i := range runs {
			rows[i], want[i] = []float64{1, float64(min(most, runs[i].Checks))}, float64(part(&runs[i]))
		}
		x := leastSquares(rows, want)
		return Memory{Rest: x[0], Loop: x[1]}
	}
	m.WorkerMemory = memory(math.MaxInt, func(r *Recording) int64 { return r.Worker.Memory })
	m.TemporalMemory = memory(statesKept, func(r *Recording) int64 { return r.Temporal.Memory })
	m.PostgresMemory = memory(math.MaxInt, func(r *Recording) int64 { return r.Postgres.Memory })
	m.Timer = time.Duration(least.Lateness.P50 * float64(time.Millisecond))
	m.sizes(runs)
	for _, r := range runs {
		if got := r.Recovery; got != nil {
			loops := float64(r.Checks)
			usual := r.Postgres.CPU / r.Took * got.Took // of what goes on meanwhile
			m.Adopt = Adoption{Worker: got.Worker / loops, Postgres: max(0, got.Postgres-usual) / loops}
		}
	}
	return m, nil
}

// sizes takes the sizes from the run with the most rows, and what a turn writes from the one with the most turns a second.
func (m *Model) sizes(runs []Recording) {
	most, turning := runs[0], runs[0]
	for _, r := range runs {
		if r.ResultRows > most.ResultRows {
			most = r
		}
		if float64(r.Turns)/r.Took > float64(turning.Turns)/turning.Took {
			turning = r
		}
	}
	m.RowBytes = float64(most.ResultBytes) / max(1, float64(most.ResultRows))
	m.WALBytes = float64(most.WALBytes) / max(1, float64(most.Results))
	m.Transitions = float64(turning.Transitions) / max(1, float64(turning.Turns))
	m.HistoryTurn = float64(turning.HistoryBytes) / max(1, float64(turning.Turns))
}

// leastSquares returns the factors, none below 0, with which the columns of the rows add up to what is wanted as nearly as
// they can, each row by its relative error.
func leastSquares(rows [][]float64, want []float64) []float64 {
	n := len(rows[0])
	square, side := make([][]float64, n), make([]float64, n)
	for i := range square {
		square[i] = make([]float64, n)
	}
	scale := make([]float64, n) // so that all columns are of the same size
	for j := range n {
		for _, row := range rows {
			scale[j] = max(scale[j], math.Abs(row[j]))
		}
		scale[j] = max(scale[j], 1e-12)
	}
	for k, row := range rows {
		weight := 1 / max(want[k], 1e-9)
		for i := range n {
			a := row[i] / scale[i] * weight
			side[i] += a
			for j := range n {
				square[i][j] += a * row[j] / scale[j] * weight
			}
		}
	}
	x := make([]float64, n)
	for range 200_000 {
		for i := range n {
			if square[i][i] == 0 {
				continue
			}
			rest := side[i]
			for j := range n {
				if j != i {
					rest -= square[i][j] * x[j]
				}
			}
			x[i] = max(0, rest/square[i][i])
		}
	}
	for i := range x {
		x[i] /= scale[i]
	}
	return x
}
