// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"time"

	"github.com/vigil-monitor/vigil/internal/instance"
)

// DescribeInstance writes where the platform is reached into its data directory, for the
// client commands, until the process stops.
func DescribeInstance(p *Process, sum Summary) error {
	err := instance.SaveInstance(sum.DataDir, instance.Instance{
		APIURL: sum.APIURL, UIURL: sum.TemporalUIURL, PID: sum.PID, Version: p.program.Version, StartedAt: time.Now().UTC(),
		TemporalAddress: sum.TemporalAddress, Namespace: sum.Namespace, MetricsURL: sum.MetricsURL, DemoURL: sum.DemoURL,
	})
	if err != nil {
		return err
	}
	p.onStop(func(context.Context) { instance.RemoveInstance(sum.DataDir, sum.PID) })
	return nil
}
