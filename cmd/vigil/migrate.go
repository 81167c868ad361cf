// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/storage"
)

func newMigrateCommand() *cobra.Command {
	var down bool
	var to string
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Migrate the database's schema to this version",
		Long: "Migrate the database's schema to this version. `vigil up` does so by itself; run this before\n" +
			"starting separate processes of a new version. Concurrent migrations wait for each other.\n\n" +
			"Before an older version is started again, --to reverts the migrations that it does not know.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := readSettings(cmd)
			if err != nil {
				return err
			}
			return withStore(cmd.Context(), &s, func(store *storage.Store) error {
				if to != "" {
					reverted, err := store.MigrateTo(cmd.Context(), to)
					for _, name := range reverted {
						fmt.Fprintf(cmd.OutOrStdout(), "%s was reverted.\n", name)
					}
					if err == nil {
						fmt.Fprintf(cmd.OutOrStdout(), "%d migrations reverted; the schema is that of %s.\n", len(reverted), to)
					}
					return err
				}
				if down {
					if err := store.MigrateDown(cmd.Context()); err != nil {
						return err
					}
					fmt.Fprintln(cmd.OutOrStdout(), "The last group of migrations was rolled back.")
					return nil
				}
				applied, err := store.Migrate(cmd.Context())
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%d migrations applied; the schema is up to date.\n", applied)
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&down, "down", false, "roll back the last group of migrations, with the data in the tables that it created")
	cmd.Flags().StringVar(&to, "to", "", "revert the migrations after this `number`, such as 1012, with the data in what they created")
	cmd.MarkFlagsMutuallyExclusive("down", "to")
	return long(cmd, "migrating the database")
}
