// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"os"
	"time"
)

// withDir runs a measurement with a directory of its own, which is removed at the end.
func withDir(measure func(dir string) error) error {
	dir, err := os.MkdirTemp("", "vigil-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // Postgres may run as another user, who passes through
		return err
	}
	return measure(dir)
}

// withCluster runs a measurement with a cluster, which is stopped at the end.
func withCluster(ctx context.Context, o LoopOptions, measure func(*cluster) error) error {
	return withDir(func(dir string) error {
		s, err := startCluster(ctx, dir, o)
		if s != nil {
			defer s.stop(context.WithoutCancel(ctx))
		}
		if err != nil {
			return err
		}
		return measure(s)
	})
}

// defaults are the options of a cluster that runs as `vigil up` does.
func defaults() LoopOptions { return LoopOptions{TurnRate: "auto", Window: 6 * time.Hour} }

// withAlerts runs a measurement with a cluster whose checks have rules and probe a service
// that can fail, once turns cover as many slots as they will.
func withAlerts(ctx context.Context, o AlertOptions, measure func(*cluster, *alertScenario, *apiCaller) error) error {
	return withCluster(ctx, defaults(), func(s *cluster) error {
		scenario := &alertScenario{}
		if err := scenario.start(ctx); err != nil {
			return err
		}
		defer scenario.stop()
		caller, err := s.serveAPI(ctx, o)
		if err != nil {
			return err
		}
		defer caller.api.stop()
		if err := caller.prepare(ctx, scenario, o); err != nil {
			return err
		}
		if err := s.settle(ctx, LoopOptions{Loops: o.Checks, Interval: o.Interval}); err != nil {
			return err
		}
		return measure(s, scenario, caller)
	})
}
