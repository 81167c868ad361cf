// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/bench"
)

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
