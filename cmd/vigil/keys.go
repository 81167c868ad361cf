// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

func newKeysResealCommand() *cobra.Command {
	return long(&cobra.Command{
		Use:   "reseal",
		Short: "Seal every stored secret again with the current VIGIL_SECRET_KEY",
		Long: "Seal every stored secret again with the current VIGIL_SECRET_KEY. Run it after putting a new key\n" +
			"before the old one (new,old) and restarting every process; then the old one can be removed.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := readSettings(cmd)
			if err != nil {
				return err
			}
			opened, err := platform.OpenSecrets(&s, existingSecret(s.DataDir))
			if err != nil {
				return err
			}
			dsn, err := platform.DatabaseURL(&s)
			if err != nil {
				return err
			}
			store, err := storage.Open(cmd.Context(), dsn, storage.Options{
				Keys: opened.Keyring, Secrets: platform.ConfigSecrets(), Pooler: s.DatabasePooler, MaxConns: 4,
				Progress: func(what string) { stage(cmd.Context(), "sealing secrets: %s", what) },
			})
			if err != nil {
				return err
			}
			defer func() { _ = store.Close() }()
			changed, err := store.Reseal(cmd.Context())
			if err != nil {
				return err
			}
			if err := noteOperator(cmd, store, "secrets.reseal"); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d configs were sealed again.\n", changed)
			return err
		},
	}, "sealing secrets")
}

// existingSecret reads secrets of a data directory, which a running platform may have
// locked, and never creates one.
type existingSecret string

// Secret returns an existing secret.
func (dir existingSecret) Secret(name string, _ int) (string, error) {
	text, err := os.ReadFile(filepath.Join(string(dir), name)) //nolint:gosec // the operator names the directory
	if err != nil {
		return "", fmt.Errorf(
			"the secret key cannot be read (%w); set VIGIL_SECRET_KEY, or VIGIL_DATA_DIR and run this as the user who runs `vigil up`", err,
		)
	}
	return strings.TrimSpace(string(text)), nil
}
