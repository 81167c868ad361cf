// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/simulate"
)

func newBenchSimulateCommand() *cobra.Command {
	o, costs, asJSON, lose := simulate.Defaults(), "", false, ""
	cmd := &cobra.Command{
		Use:   "simulate",
		Short: "Simulate many checks from many regions, with the costs of a recorded run",
		Long: "Simulate one region event by event, by the rules that the platform itself has for slots, turns, groups of results,\n" +
			"places and leases, and print what all regions need and what a loss does. Each piece of work takes what\n" +
			"`vigil bench loops --record FILE` has measured; without --costs that is a recording of the project's own machine.\n" +
			"Nothing else is started. A million checks take 0.9 GB of memory.",
		Example: "  vigil bench simulate --checks 1000000 --interval 60s --regions 10 --workers 20\n" +
			"  vigil bench simulate --checks 50000 --workers 3 --lose host --json",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Lose = simulate.Loss(lose)
			if err := o.Validate(); err != nil {
				return err
			}
			known, err := simulate.Recorded()
			if costs != "" {
				known, err = simulate.ReadCosts(costs)
			}
			if err != nil {
				return err
			}
			model, err := simulate.Fit(known.Runs)
			if err != nil {
				return fmt.Errorf("--costs: %w", err)
			}
			out, err := simulate.Run(cmd.Context(), o, model)
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(out)
			}
			return out.Print(cmd.OutOrStdout(), o)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.Checks, "checks", o.Checks, "how many `checks`, each from all regions")
	f.DurationVar(&o.Interval, "interval", o.Interval, "interval of every check")
	f.IntVar(&o.Regions, "regions", o.Regions, "how many `regions`, of which one is simulated: they do the same")
	f.IntVar(&o.Workers, "workers", o.Workers, "how many worker `processes` each region has, each on a host of its own")
	f.IntVar(&o.Cores, "cores", o.Cores, "`cores` of the host of a worker")
	f.IntVar(&o.DatabaseCores, "database-cores", 0, "`cores` of the Postgres for results of a region; 0: twice what it needs")
	f.IntVar(&o.TemporalCores, "temporal-cores", 0, "`cores` of Temporal and its store for a region; 0: twice what they need")
	f.StringVar(&costs, "costs", "", "`file` of recordings, as vigil bench loops --record writes it")
	f.StringVar(&o.TurnRate, "turn-rate", o.TurnRate, "`turns` a second of a worker (VIGIL_TURN_RATE)")
	f.DurationVar(&o.Window, "window", o.Window, "longest time of a turn (VIGIL_QUIET_WINDOW)")
	f.IntVar(&o.MaxProbes, "max-probes", o.MaxProbes, "`places` for probes of a worker (VIGIL_MAX_PROBES)")
	f.IntVar(&o.Organizations, "organizations", o.Organizations, "how many `organizations` have the checks")
	f.DurationVar(&o.Response, "response", o.Response, "how long a target takes to answer")
	f.Float64Var(&o.Slow, "slow", 0, "the `part` of the checks, 0 to 1, whose targets hang until the timeout")
	f.DurationVar(&o.Timeout, "timeout", o.Timeout, "timeout of a probe")
	f.DurationVar(&o.Commit, "commit", o.Commit, "how long a transaction waits for the disk and the standby, beside its work")
	f.DurationVar(&o.Created, "created", 0, "create the loops within this time; 0: they exist")
	f.DurationVar(&o.Warm, "warm", o.Warm, "how long the region runs before the measured time")
	f.DurationVar(&o.For, "for", o.For, "the measured time")
	f.StringVar(&lose, "lose", "", "lose `what` at its end: host, zone or region")
	f.IntVar(&o.Zones, "zones", o.Zones, "how many `zones` the hosts of a region are in")
	f.DurationVar(&o.Failover, "failover", o.Failover, "how long Postgres takes no writes when its zone is lost")
	f.DurationVar(&o.Away, "away", 0, "lost workers are there again after this time; 0: they are not")
	f.DurationVar(&o.After, "after", o.After, "how long is simulated after a loss")
	f.Uint64Var(&o.Seed, "seed", o.Seed, "`number` that the chances follow from")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
