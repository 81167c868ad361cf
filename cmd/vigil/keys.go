// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/cmd/vigil/cli"
	"github.com/vigil-monitor/vigil/internal/platform"
	"github.com/vigil-monitor/vigil/storage"
)

func newKeysCommand() *cobra.Command {
	return cli.Group("keys", "Administer API keys and the secret key", newKeysCreateCommand(), newKeysResealCommand())
}

func newKeysCreateCommand() *cobra.Command {
	var email, name string
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create an API key and print it",
		Long: "Create an API key and print it, alone, on standard output. It is shown only once.\n" +
			"Without --email it belongs to the operator's own organization, which is created with its first key.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			name = strings.TrimSpace(name)
			if name == "" || len(name) > 100 {
				return errors.New("--name must have 1 to 100 characters")
			}
			s, err := readSettings(cmd)
			if err != nil {
				return err
			}
			return withStore(cmd.Context(), &s, func(store *storage.Store) error {
				plain := ""
				if !cmd.Flags().Changed("email") {
					if plain, err = platform.Bootstrap(asOperator(cmd, actionFirstKey, uuid.Nil, uuid.Nil), store, name); err != nil {
						return err
					}
				}
				if plain == "" {
					if plain, err = addKey(cmd, store, email, name); err != nil {
						return err
					}
				}
				fmt.Fprintln(cmd.OutOrStdout(), plain)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&email, "email", "", "`address` of the account that gets the key (default that of the operator)")
	cmd.Flags().StringVar(&name, "name", "made on the command line", "`name` by which the key is listed")
	return cmd
}

// addKey creates another key for an account.
func addKey(cmd *cobra.Command, store *storage.Store, email, name string) (string, error) {
	user, err := accountOf(cmd, store, email)
	if err != nil {
		return "", err
	}
	plain, kept, err := api.NewKey(name)
	if err != nil {
		return "", err
	}
	_, err = store.CreateKey(asOperator(cmd, "api_key.create", user.OrgID, uuid.Nil), user.OrgID, user.ID, kept)
	return plain, err
}
