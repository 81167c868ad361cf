// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/internal/audit"
	"github.com/vigil-monitor/vigil/storage"
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
				link, err := loginLinkOf(cmd, store, email, "http://"+s.Listen.reachable())
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
	return newLoginLink(asOperator(cmd, actionLoginLink, user.OrgID, user.ID), store, user.ID, base)
}

// actionLoginLink is the action of making a link, in the audit log.
const actionLoginLink = "account.create_login_link"

// linkStore keeps login links.
type linkStore interface {
	operatorStore
	CreateLoginLink(ctx context.Context, userID uuid.UUID, hash []byte) error
}

// operatorLink makes a link that signs in the operator, whose account must exist.
func operatorLink(ctx context.Context, store linkStore, base string) (string, error) {
	user, err := store.Operator(ctx)
	if err != nil {
		return "", fmt.Errorf("look for the operator's account: %w", err)
	}
	ctx = audit.NewContext(ctx, &audit.Entry{OrgID: user.OrgID, Action: actionLoginLink, ResourceID: user.ID, UserAgent: "vigil up"})
	return newLoginLink(ctx, store, user.ID, base)
}

func newLoginLink(ctx context.Context, store linkStore, userID uuid.UUID, base string) (string, error) {
	token, hash, err := api.NewLoginLink()
	if err != nil {
		return "", err
	}
	return base + "/app/first-run?token=" + token, store.CreateLoginLink(ctx, userID, hash)
}
