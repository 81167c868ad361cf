package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"vigil/storage"
)

func newMigrateCommand() *cobra.Command {
	var down bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Migrate the database's schema to this version",
		Long: "Migrate the database's schema to this version. `vigil up` does so by itself; run this before\n" +
			"starting separate processes of a new version. Concurrent migrations wait for each other.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := readSettings(cmd)
			if err != nil {
				return err
			}
			return withStore(cmd.Context(), &s, func(store *storage.Store) error {
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
	return cmd
}
