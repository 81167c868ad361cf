// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/bench"
)

func newBenchRequestsCommand() *cobra.Command {
	o := bench.RequestOptions{}
	cmd := &cobra.Command{
		Use:   "requests",
		Short: "Measure what requests themselves cost: goroutines that request the target, without Vigil and Temporal",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Loops < 1 || o.Interval < time.Second || o.Settle < 0 || o.Measure < time.Second {
				return errors.New("a measurement needs at least one goroutine, an interval of a second and a second of time")
			}
			o.Out = cmd.OutOrStdout()
			return bench.MeasureRequests(cmd.Context(), o)
		},
	}
	cmd.Flags().IntVar(&o.Loops, "loops", 1000, "how many `goroutines`")
	cmd.Flags().DurationVar(&o.Interval, "interval", time.Second, "interval of the requests of each goroutine")
	cmd.Flags().DurationVar(&o.Settle, "settle", 10*time.Second, "how long to request before the measurement")
	cmd.Flags().DurationVar(&o.Measure, "for", 30*time.Second, "how long to measure")
	return cmd
}

func newBenchRequesterCommand() *cobra.Command {
	o := bench.RequesterOptions{}
	cmd := &cobra.Command{
		Use:    "requester",
		Short:  "Make the requests of a measurement",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Out = cmd.OutOrStdout()
			return bench.Requester(cmd.Context(), o)
		},
	}
	cmd.Flags().IntVar(&o.Loops, "loops", 0, "how many `goroutines`")
	cmd.Flags().DurationVar(&o.Interval, "interval", time.Second, "interval of their requests")
	cmd.Flags().StringVar(&o.URL, "url", "", "`URL` that they request")
	return cmd
}
