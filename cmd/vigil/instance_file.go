// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/vigil-monitor/vigil/internal/instance"
)

// describeInstance writes where the platform is reached into its data directory, for the
// client commands, until the process stops.
func describeInstance(p *process, sum summary) error {
	err := instance.SaveInstance(sum.DataDir, instance.Instance{
		APIURL: sum.APIURL, UIURL: sum.TemporalUIURL, PID: sum.PID, Version: p.program.version, StartedAt: time.Now().UTC(),
		TemporalAddress: sum.TemporalAddress, Namespace: sum.Namespace, MetricsURL: sum.MetricsURL, DemoURL: sum.DemoURL,
	})
	if err != nil {
		return err
	}
	p.onStop(func(context.Context) { instance.RemoveInstance(sum.DataDir, sum.PID) })
	return nil
}
