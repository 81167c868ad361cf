// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/cmd/vigil/cli"
	"github.com/vigil-monitor/vigil/internal/bench"
)

func newBenchCommand() *cobra.Command {
	const what = "measuring"
	return cli.Group("bench", "Measure the platform on this machine",
		long(newBenchLoopsCommand(), what), long(newBenchAlertsCommand(), what), long(newBenchCreateCommand(), what),
		long(newBenchIncidentsCommand(), what), long(newBenchReadsCommand(), what), long(newBenchIdleCommand(), what),
		long(newBenchDashboardCommand(), what), long(newBenchTurnsCommand(), what), long(newBenchRequestsCommand(), what),
		newBenchTargetCommand(), newBenchLooperCommand(), newBenchRequesterCommand())
}

func newBenchLoopsCommand() *cobra.Command {
	o := bench.LoopOptions{}
	cmd := &cobra.Command{
		Use:   "loops",
		Short: "Measure what loops cost: throughput, lateness, CPU of every part, memory",
		Long: "Start Postgres, Temporal, a worker and an HTTP target as processes of their own, in a directory\n" +
			"of their own that is removed at the end, run the loops, and print what they cost.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Loops < 1 || o.Interval < time.Second || o.Measure < time.Second {
				return errors.New("a measurement needs at least one loop, an interval of a second and a second of time")
			}
			o.Out = cmd.OutOrStdout()
			return bench.MeasureLoops(cmd.Context(), o)
		},
	}
	cmd.Flags().IntVar(&o.Loops, "loops", 1000, "how many `checks`, each in one region")
	cmd.Flags().DurationVar(&o.Interval, "interval", 10*time.Second, "interval of every check")
	cmd.Flags().Float64Var(&o.TurnRate, "turn-rate", 5, "`turns` a second of the worker (VIGIL_TURN_RATE); 0 is a turn for every slot")
	cmd.Flags().DurationVar(&o.Window, "window", 30*time.Minute, "longest time of a turn (VIGIL_QUIET_WINDOW)")
	cmd.Flags().DurationVar(&o.Settle, "settle", 3*time.Minute, "how long to wait at most until turns cover as many slots as they will")
	cmd.Flags().DurationVar(&o.Measure, "for", 30*time.Second, "how long to measure after that")
	cmd.Flags().BoolVar(&o.InOne, "up", false, "run Temporal, the API and the workers in one process, as vigil up does")
	cmd.Flags().
		BoolVar(&o.Restart, "restart", false, "at the end, kill worker and Temporal and measure the time until every loop probes again")
	return cmd
}

func newBenchAlertsCommand() *cobra.Command {
	o := bench.AlertOptions{}
	cmd := &cobra.Command{
		Use:   "alerts",
		Short: "Measure how soon a receiver and the alert stream receive failures",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Checks < 1 || o.Interval < time.Second || o.Subscribers < 1 {
				return errors.New("a measurement needs at least one check, an interval of a second and a subscriber")
			}
			o.Out = cmd.OutOrStdout()
			return bench.MeasureAlerts(cmd.Context(), o)
		},
	}
	cmd.Flags().IntVar(&o.Checks, "checks", 100, "how many `checks` fail and recover at once")
	cmd.Flags().DurationVar(&o.Interval, "interval", 10*time.Second, "interval of every check")
	cmd.Flags().IntVar(&o.Subscribers, "subscribers", 1000, "how many `streams` listen")
	return cmd
}

func newBenchTargetCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "target",
		Short:  "Serve the HTTP target of a measurement",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(cmd *cobra.Command, _ []string) error { return bench.Target(cmd.Context(), cmd.OutOrStdout()) },
	}
}
