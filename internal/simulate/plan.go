// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"math"
	"time"

	"github.com/vigil-monitor/vigil/internal/pace"
)

// Plan is what all regions need together, and each part of one.
type Plan struct {
	Loops      int     `json:"loops"`
	Results    float64 `json:"results_a_second"`
	Turns      float64 `json:"turns_a_second"`
	Transition float64 `json:"state_transitions_a_second"`

	WorkerHosts  int     `json:"worker_hosts"`
	WorkerCores  float64 `json:"worker_cores_used"` // of all of them
	WorkerMemory float64 `json:"worker_memory_bytes"`

	TemporalCores  float64 `json:"temporal_cores_used"` // frontend, history and matching
	StoreCores     float64 `json:"temporal_store_cores_used"`
	HistoryHosts   int     `json:"history_hosts"` // of HistoryCores cores that are half used, and one more
	HistoryCores   int     `json:"history_host_cores"`
	States         int     `json:"temporal_states"`       // that its caches have, of the turns of the last minutes
	TemporalMemory float64 `json:"temporal_memory_bytes"` // of all of it
	HistoryDay     float64 `json:"temporal_history_bytes_a_day"`

	Databases    int     `json:"result_databases"` // one in each region
	DatabaseRows float64 `json:"database_rows_a_second"`
	DatabaseCore float64 `json:"database_cores_used"` // of each
	DatabaseDay  float64 `json:"database_bytes_a_day"`
	AllDay       float64 `json:"bytes_a_day"` // of all of them
	WALDay       float64 `json:"wal_bytes_a_day"`
}

// historyCores is how many cores a host of Temporal has in a plan.
const historyCores = 16

// plan is what the figures of one region say about all.
func plan(o Options, m Model, f *Figures) Plan {
	regions, day := float64(o.Regions), (24 * time.Hour).Seconds()
	results, turns := float64(f.Results)/f.Seconds, float64(f.Turns)/f.Seconds
	p := Plan{
		Loops: o.Checks * o.Regions, Results: results * regions, Turns: turns * regions,
		WorkerHosts: o.Workers * o.Regions, WorkerCores: f.Worker * regions,
		TemporalCores: f.Temporal * regions, StoreCores: f.Store * regions, HistoryCores: historyCores,
		Databases: o.Regions, DatabaseRows: results, DatabaseCore: f.Database,
	}
	p.Transition = p.Turns * m.Transitions
	p.WorkerMemory = m.WorkerMemory.Rest + m.WorkerMemory.Loop*float64(o.Checks)/float64(o.Workers)
	p.HistoryHosts = 1 + int(math.Ceil(p.TemporalCores/(historyCores/2)))
	p.States = int(p.Turns * pace.StatesOfTurn)
	p.TemporalMemory = m.TemporalMemory.Rest*float64(p.HistoryHosts) + m.TemporalMemory.Loop*float64(p.States)
	p.HistoryDay = m.HistoryTurn * p.Turns * day
	p.DatabaseDay = results * m.RowBytes * day
	p.AllDay, p.WALDay = p.DatabaseDay*regions, results*m.WALBytes*day
	return p
}
