// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/storage"

	"github.com/vigil-monitor/vigil/internal/platform"
)

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
