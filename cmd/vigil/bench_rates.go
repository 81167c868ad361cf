// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/bench"
)

func newBenchCreateCommand() *cobra.Command {
	o := bench.CreateOptions{}
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Measure how fast checks are created, started and probed",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Checks < 1 || o.Clients < 1 || o.Interval < time.Second || o.Rate < 1 || o.Paced < 0 {
				return errors.New("a measurement needs at least one check, one client, an interval of a second and one creation a second")
			}
			o.Out = cmd.OutOrStdout()
			return bench.MeasureCreate(cmd.Context(), o)
		},
	}
	cmd.Flags().IntVar(&o.Checks, "checks", 10_000, "how many `checks` are created as fast as the API answers")
	cmd.Flags().IntVar(&o.Clients, "clients", 8, "how many `clients` create them, each one at a time")
	cmd.Flags().DurationVar(&o.Interval, "interval", time.Minute, "interval of every check")
	cmd.Flags().IntVar(&o.Rate, "rate", 20, "afterwards, how many `checks` are created a second to time their first results")
	cmd.Flags().DurationVar(&o.Paced, "paced", 15*time.Second, "for how long; 0 leaves it out")
	return cmd
}

func newBenchIncidentsCommand() *cobra.Command {
	o := bench.IncidentOptions{}
	cmd := &cobra.Command{
		Use:   "incidents",
		Short: "Measure how soon every one of many incidents at once has its first attempt of a delivery",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Checks < 1 || o.Interval < time.Second {
				return errors.New("a measurement needs at least one check and an interval of a second")
			}
			o.Out = cmd.OutOrStdout()
			return bench.MeasureIncidents(cmd.Context(), o)
		},
	}
	cmd.Flags().IntVar(&o.Checks, "checks", 1000, "how many `checks` fail at once")
	cmd.Flags().DurationVar(&o.Interval, "interval", 10*time.Second, "interval of every check")
	return cmd
}
