// SPDX-License-Identifier: Apache-2.0

package simulate

import (
	"fmt"
	"strconv"
	"time"

	"github.com/vigil-monitor/vigil/internal/pace"
)

// Loss is what a simulation loses.
type Loss string

// The losses.
const (
	LoseNothing Loss = ""
	LoseHost    Loss = "host"   // that of one worker process
	LoseZone    Loss = "zone"   // every Zones-th host of workers, and the primary of the region's Postgres
	LoseRegion  Loss = "region" // all workers of the region, until they are back
)

// Options of a simulation.
type Options struct {
	Checks   int           // each in all regions
	Interval time.Duration // of every check
	Regions  int           // one is simulated: nothing of a loop crosses regions, so the others do the same
	Workers  int           // processes of each region, each on a host of its own
	Cores    int           // of the host of a worker process
	// DatabaseCores and TemporalCores are those of the region's Postgres and of its part of Temporal with its store.
	DatabaseCores, TemporalCores int
	// OneMachine: all parts share the Cores of one host, as in a recording. It needs one worker process.
	OneMachine bool

	TurnRate      string        // VIGIL_TURN_RATE of the workers: auto or a number
	Window        time.Duration // VIGIL_QUIET_WINDOW of the workers
	MaxProbes     int           // VIGIL_MAX_PROBES of the workers
	Organizations int           // that the checks are divided among; each check has a target of its own

	Response time.Duration // of the targets
	Slow     float64       // the part of the checks, 0 to 1, whose targets hang until the timeout
	Timeout  time.Duration // of these
	Commit   time.Duration // what a transaction waits for the disk, a standby or the way, beside its work

	// Created is for how long the loops are created, evenly, from the beginning on; 0: they exist, with the widest turns.
	Created time.Duration
	Warm    time.Duration // from then until the measured time
	For     time.Duration // the measured time

	Lose     Loss          // at the end of the measured time
	Zones    int           // among which the hosts are divided
	Failover time.Duration // for how long Postgres takes no writes when its zone is lost
	Away     time.Duration // after which lost workers are there again; 0: they are not
	After    time.Duration // how long is simulated from the loss on

	Seed uint64
}

// Defaults are the options of a plan: a million checks at 60 s from ten regions.
func Defaults() Options {
	return Options{
		Checks: 1_000_000, Interval: time.Minute, Regions: 10, Workers: 20, Cores: 2, TurnRate: "auto", Window: 6 * time.Hour,
		MaxProbes: 4096, Organizations: 1000, Response: 100 * time.Millisecond, Timeout: 10 * time.Second, Commit: time.Millisecond,
		Warm: 2 * time.Minute, For: 3 * time.Minute, Zones: 3, Failover: 22 * time.Second, After: 4 * time.Minute, Seed: 1,
	}
}

// loopLimit is how many loops of a region a simulation takes: each has some 400 bytes.
const loopLimit = 5_000_000

// Validate returns an error that names the flag of `vigil bench simulate` whose value cannot be used.
func (o *Options) Validate() error {
	whole := []struct {
		flag            string
		value, low, top int
	}{
		{"checks", o.Checks, 1, loopLimit},
		{"regions", o.Regions, 1, 1000},
		{"workers", o.Workers, 1, 10_000},
		{"cores", o.Cores, 1, 256},
		{"database-cores", o.DatabaseCores, 0, 1024},
		{"temporal-cores", o.TemporalCores, 0, 1024},
		{"max-probes", o.MaxProbes, 64, 100_000},
		{"organizations", o.Organizations, 1, loopLimit},
		{"zones", o.Zones, 2, 100},
	}
	for _, f := range whole {
		if f.value < f.low || f.value > f.top {
			return fmt.Errorf("--%s is %d; it must be from %d to %d", f.flag, f.value, f.low, f.top)
		}
	}
	times := []struct {
		flag            string
		value, low, top time.Duration
	}{
		{"interval", o.Interval, time.Second, 24 * time.Hour},
		{"window", o.Window, time.Second, 6 * time.Hour},
		{"response", o.Response, 0, time.Minute},
		{"timeout", o.Timeout, 0, time.Minute},
		{"commit", o.Commit, 0, time.Second},
		{"created", o.Created, 0, 24 * time.Hour},
		{"warm", o.Warm, 0, 24 * time.Hour},
		{"for", o.For, time.Second, 24 * time.Hour},
		{"failover", o.Failover, 0, time.Hour},
		{"away", o.Away, 0, 24 * time.Hour},
		{"after", o.After, 0, 24 * time.Hour},
	}
	for _, f := range times {
		if f.value < f.low || f.value > f.top {
			return fmt.Errorf("--%s is %v; it must be from %v to %v", f.flag, f.value, f.low, f.top)
		}
	}
	switch {
	case o.Lose != LoseNothing && o.Lose != LoseHost && o.Lose != LoseZone && o.Lose != LoseRegion:
		return fmt.Errorf("--lose is %q; it must be host, zone or region", o.Lose)
	case o.OneMachine && o.Workers != 1:
		return fmt.Errorf("--one-machine has one worker process, and --workers is %d", o.Workers)
	case o.Lose == LoseHost && o.Workers < 2:
		return fmt.Errorf("--lose host needs --workers 2 or more: another one of the region takes the loops")
	case o.Lose == LoseZone && o.Workers < o.Zones:
		return fmt.Errorf("--lose zone needs at least as many --workers as --zones, which are %d and %d", o.Workers, o.Zones)
	case o.Slow < 0 || o.Slow > 1:
		return fmt.Errorf("--slow is %v; it must be from 0 to 1", o.Slow)
	case o.Lose != LoseNothing && o.After < time.Minute:
		return fmt.Errorf("--after is %v; with --lose it must be 1m or more", o.After)
	}
	_, _, err := o.rates()
	return err
}

// rates are those of pace.NewBudget for a worker.
func (o *Options) rates() (rate, wide float64, err error) {
	if o.TurnRate == "auto" {
		rate, wide = pace.AutomaticRates(o.Cores)
		return rate, wide, nil
	}
	rate, err = strconv.ParseFloat(o.TurnRate, 64)
	if err != nil || !(rate >= 0 && rate <= 1000) {
		return 0, 0, fmt.Errorf("--turn-rate is %q; it must be auto, or a number from 0 to 1000", o.TurnRate)
	}
	return rate, rate, nil
}

// Of returns the options with which a recording is simulated: what was created, waited for and measured, on one machine.
func Of(r *Recording) Options {
	o := Defaults()
	o.Checks, o.Interval, o.Regions, o.Workers, o.Cores, o.OneMachine = r.Checks, seconds(r.Interval), 1, 1, r.Cores, true
	o.TurnRate, o.Window = r.TurnRate, seconds(r.Window)
	o.Organizations, o.Response, o.Commit = 1, 0, 0
	o.Created, o.Warm, o.For = seconds(r.Created), seconds(r.Settled), seconds(r.Took)
	return o
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
