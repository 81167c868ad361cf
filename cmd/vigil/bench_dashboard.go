// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/bench"
)

func newBenchDashboardCommand() *cobra.Command {
	o := bench.DashboardOptions{}
	cmd := &cobra.Command{
		Use:   "dashboard",
		Short: "Measure how soon the overview answers, how large it is, and what open pages cost",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Checks < 1 || o.Interval < time.Second || o.Rounds < 1 || o.Viewers < 0 || o.Measure < time.Second {
				return errors.New("a measurement needs at least one check, an interval of a second, one reading and a second of time")
			}
			o.Out = cmd.OutOrStdout()
			return bench.MeasureDashboard(cmd.Context(), o)
		},
	}
	cmd.Flags().IntVar(&o.Checks, "checks", 1000, "how many `checks` the overview has")
	cmd.Flags().DurationVar(&o.Interval, "interval", time.Minute, "interval of every check")
	cmd.Flags().DurationVar(&o.Settle, "settle", 2*time.Minute, "how long to wait at most until turns cover as many slots as they will")
	cmd.Flags().IntVar(&o.Rounds, "rounds", 300, "how often the overview is read")
	cmd.Flags().IntVar(&o.Viewers, "viewers", 100, "how many `browsers` keep the overview open, 100 at most, as a user may; 0 leaves it out")
	cmd.Flags().DurationVar(&o.Measure, "for", 30*time.Second, "for how long their CPU time is counted")
	return cmd
}
