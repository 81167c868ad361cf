// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// What drills do to the clock of a host. It is restarted with another clock, and restarted with the right one at the end.
const (
	TakeAhead       Take = "clock 3 s ahead"
	TakeBehind      Take = "clock 3 s behind"
	TakeFarAhead    Take = "clock 90 s ahead"
	TakeFarBehind   Take = "clock 90 s behind"
	clockVariable        = "VIGIL_TEST_CLOCK_OFFSET"
	smallDifference      = 3 * time.Second
	largeDifference      = 90 * time.Second
)

// clockTakes are the takes of clocks, in order.
func clockTakes() []Take { return []Take{TakeAhead, TakeBehind, TakeFarAhead, TakeFarBehind} }

// clockOffset is by how much the clock of a host is ahead; zero for a take that sets none.
func clockOffset(take Take) time.Duration {
	return map[Take]time.Duration{
		TakeAhead: smallDifference, TakeBehind: -smallDifference, TakeFarAhead: largeDifference, TakeFarBehind: -largeDifference,
	}[take]
}

func wrongClocks(rounds int) (all []Drill) {
	for _, take := range clockTakes() {
		for _, kind := range []Kind{KindWorker, KindControl, KindAPI, KindHistory} {
			all = append(all, repeated(string(kind), take, rounds)...)
		}
	}
	return all
}

// ClockPrograms are programs that were built with the overlay of .ci/clock-programs: they read by how much their clock is off
// from VIGIL_TEST_CLOCK_OFFSET.
type ClockPrograms struct{ Vigil, TemporalServer string }

// Check returns an error where one of the drills sets a clock and a program is missing.
func (p ClockPrograms) Check(drills []Drill) error {
	if !slices.ContainsFunc(drills, func(d Drill) bool { return clockOffset(d.Take) != 0 }) {
		return nil
	}
	for _, path := range []string{p.Vigil, p.TemporalServer} {
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("drills of clocks need a program that make clock-programs builds: %w", err)
		}
	}
	return nil
}

// setClock restarts a host with a clock that is off by a time, and later with the right one.
func (d *Drills) setClock(ctx context.Context, h *Host, by time.Duration) error {
	path := d.c.options.ClockPrograms.Vigil
	if temporalServices()[h.Kind] != nil {
		path = d.c.options.ClockPrograms.TemporalServer
	}
	right := h.programs[0]
	wrong := right
	wrong.argv = append([]string{path}, right.argv[1:]...)
	wrong.env = append(slices.Clone(right.env), clockVariable+"="+by.String())
	h.become(wrong)
	err := h.restart(ctx)
	if err == nil {
		err = timing.Sleep(ctx, d.options.Away)
	}
	h.become(right)
	return errors.Join(err, h.restart(ctx))
}

// become gives the host another program, which its next start runs.
func (h *Host) become(p program) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.programs[0] = p
}
