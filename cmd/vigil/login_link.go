// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/storage"

	"github.com/vigil-monitor/vigil/internal/platform"
)

func newLoginLinkCommand() *cobra.Command {
	var email string
	cmd := &cobra.Command{
		Use:   "login-link",
		Short: "Print a link that signs in to the dashboard on this machine",
		Long: "Print a link that signs in to the dashboard without a password, alone, on standard output. It works once,\n" +
			"for 10 minutes, in a browser on the machine that runs Vigil. Without --email it signs in the operator.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := readSettings(cmd)
			if err != nil {
				return err
			}
			return withStore(cmd.Context(), &s, func(store *storage.Store) error {
				link, err := loginLinkOf(cmd, store, email, "http://"+s.Listen.Reachable())
				if err != nil {
					return err
				}
				fmt.Fprintln(cmd.OutOrStdout(), link)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&email, "email", "", "`address` of the account to sign in (default that of the operator)")
	return cmd
}

// loginLinkOf makes a link for an account.
func loginLinkOf(cmd *cobra.Command, store *storage.Store, email, base string) (string, error) {
	user, err := accountOf(cmd, store, email)
	if err != nil {
		return "", err
	}
	return platform.NewLoginLink(asOperator(cmd, platform.ActionLoginLink, user.OrgID, user.ID), store, user.ID, base)
}
