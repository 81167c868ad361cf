// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/bench"
)

func newBenchIdleCommand() *cobra.Command {
	o := bench.IdleOptions{}
	cmd := &cobra.Command{
		Use:   "idle",
		Short: "Measure what the platform costs without checks: memory and CPU of each kind of process",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Settle < 0 || o.Measure < time.Second {
				return errors.New("a measurement needs a second of time")
			}
			o.Out = cmd.OutOrStdout()
			return bench.MeasureIdle(cmd.Context(), o)
		},
	}
	cmd.Flags().DurationVar(&o.Settle, "settle", time.Minute, "how long the platform runs before the measurement")
	cmd.Flags().DurationVar(&o.Measure, "for", 30*time.Second, "how long to measure")
	return cmd
}
