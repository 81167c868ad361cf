// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/cmd/vigil/cli"
	"github.com/vigil-monitor/vigil/internal/bench"
	"github.com/vigil-monitor/vigil/internal/platform"
)

func newBenchCommand() *cobra.Command {
	const what = "measuring"
	return cli.Group("bench", "Measure the platform on this machine",
		long(newBenchLoopsCommand(), what), long(newBenchAlertsCommand(), what), long(newBenchCreateCommand(), what),
		long(newBenchIncidentsCommand(), what), long(newBenchReadsCommand(), what), long(newBenchIdleCommand(), what),
		long(newBenchDashboardCommand(), what), long(newBenchTurnsCommand(), what), long(newBenchRequestsCommand(), what),
		long(newBenchHeartbeatsCommand(), what),
		long(newBenchAgentsCommand(), what), newBenchSimulateCommand(),
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
	cmd.Flags().StringVar(&o.TurnRate, "turn-rate", "auto", "`turns` a second of the worker (VIGIL_TURN_RATE); 0 is a turn for every slot")
	cmd.Flags().DurationVar(&o.Window, "window", 6*time.Hour, "longest time of a turn (VIGIL_QUIET_WINDOW)")
	cmd.Flags().DurationVar(&o.Settle, "settle", 3*time.Minute, "how long to wait at most until turns cover as many slots as they will")
	cmd.Flags().DurationVar(&o.Measure, "for", 30*time.Second, "how long to measure after that")
	cmd.Flags().IntVar(&o.Drills, "drills", 0,
		"measure twice more: while up to so many `drills` run one after the other, and again without them")
	cmd.Flags().BoolVar(&o.InOne, "up", false, "run Temporal, the API and the workers in one process, as vigil up does")
	cmd.Flags().StringVar(&o.Record, "record", "", "`file` of costs that the figures are added to, for vigil bench simulate")
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

func newBenchReadsCommand() *cobra.Command {
	o := bench.ReadOptions{}
	cmd := &cobra.Command{
		Use:   "reads",
		Short: "Measure how long lists, results and summaries take in a large database",
		Long: "Start a Postgres in a directory of its own, fill it with results, print how long each read takes and\n" +
			"the plan of the slowest statement, and remove the directory. 20 million results need 6 GB of disk.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Results < 1000 || o.Checks < 100 || o.Rounds < 1 {
				return errors.New("a measurement needs at least 1000 results, 100 checks and one round")
			}
			o.Out = cmd.OutOrStdout()
			return bench.MeasureReads(cmd.Context(), o)
		},
	}
	cmd.Flags().IntVar(&o.Results, "results", 20_000_000, "how many `results` are stored, about")
	cmd.Flags().IntVar(&o.Checks, "checks", 10_000, "how many `checks` the organization has")
	cmd.Flags().StringVar(&o.Dir, "data", "", "`directory` that keeps the database for another measurement, which does not fill it again")
	cmd.Flags().IntVar(&o.Rounds, "rounds", 100, "how often each read is measured")
	return cmd
}

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

func newBenchHeartbeatsCommand() *cobra.Command {
	o := bench.HeartbeatOptions{}
	cmd := &cobra.Command{
		Use:   "heartbeats",
		Short: "Measure what heartbeats cost whose jobs ping: CPU of each kind of process, without the jobs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Heartbeats < 1 || o.Interval < time.Second || o.Settle < 0 || o.Measure < time.Second {
				return errors.New("a measurement needs at least one heartbeat, an interval of a second and a second of time")
			}
			o.Out = cmd.OutOrStdout()
			return bench.MeasureHeartbeats(cmd.Context(), o)
		},
	}
	cmd.Flags().IntVar(&o.Heartbeats, "heartbeats", 10_000, "how many `heartbeats`")
	cmd.Flags().DurationVar(&o.Interval, "interval", time.Minute, "interval of the pings of every job")
	cmd.Flags().DurationVar(&o.Settle, "settle", 10*time.Minute, "how long the jobs ping before the measurement")
	cmd.Flags().DurationVar(&o.Measure, "for", 2*time.Minute, "how long to measure")
	return cmd
}

func newBenchAgentsCommand() *cobra.Command {
	o := bench.AgentOptions{}
	cmd := &cobra.Command{
		Use:   "agents",
		Short: "Measure what checks cost that an agent probes, beside those of a worker, and the memory of the agent",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Checks < 1 || o.Interval < time.Second || o.Settle < 0 || o.Measure < time.Second {
				return errors.New("a measurement needs at least one check, an interval of a second and a second of time")
			}
			o.Out = cmd.OutOrStdout()
			return bench.MeasureAgents(cmd.Context(), o)
		},
	}
	cmd.Flags().IntVar(&o.Checks, "checks", 1000, "how many `checks`")
	cmd.Flags().DurationVar(&o.Interval, "interval", 10*time.Second, "interval of every check")
	cmd.Flags().DurationVar(&o.Settle, "settle", 2*time.Minute, "how long they are probed before the measurement")
	cmd.Flags().DurationVar(&o.Measure, "for", time.Minute, "how long to measure")
	cmd.Flags().StringVar(&o.Program, "program", "", "a vigil-agent to measure instead of the agent in this `program`")
	return cmd
}

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
