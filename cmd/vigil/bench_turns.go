// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/bench"

	"github.com/vigil-monitor/vigil/internal/platform"
)

func newBenchTurnsCommand() *cobra.Command {
	o := bench.TurnOptions{}
	cmd := &cobra.Command{
		Use:   "turns",
		Short: "Measure what Temporal itself costs: workflows that loop over an activity, without Vigil",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Loops < 1 || o.Interval < time.Second || o.Measure < time.Second {
				return errors.New("a measurement needs at least one loop, an interval of a second and a second of time")
			}
			o.Out = cmd.OutOrStdout()
			return bench.MeasureTurns(cmd.Context(), o)
		},
	}
	cmd.Flags().IntVar(&o.Loops, "loops", 300, "how many `workflows`")
	cmd.Flags().DurationVar(&o.Interval, "interval", time.Minute, "interval of the activities of each workflow")
	cmd.Flags().DurationVar(&o.Measure, "for", 2*time.Minute, "how long to measure")
	return cmd
}

func newBenchLooperCommand() *cobra.Command {
	o := bench.LooperOptions{}
	cmd := &cobra.Command{
		Use:    "looper",
		Short:  "Run the workflows of a measurement",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := readSettings(cmd)
			if err != nil {
				return err
			}
			o.Address, o.Namespace, o.Out = s.TemporalAddress, s.TemporalNamespace, cmd.OutOrStdout()
			o.TLS = platform.LocalTemporalTLS(&s)
			return bench.Looper(cmd.Context(), o)
		},
	}
	cmd.Flags().IntVar(&o.Loops, "loops", 0, "how many `workflows`")
	cmd.Flags().DurationVar(&o.Interval, "interval", time.Minute, "interval of the activities")
	cmd.Flags().StringVar(&o.URL, "url", "", "`URL` that the activities request")
	return cmd
}
