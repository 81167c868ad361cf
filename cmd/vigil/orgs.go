// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/cmd/vigil/cli"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/platform"
	"github.com/vigil-monitor/vigil/storage"
)

func newOrgsCommand() *cobra.Command {
	return cli.Group("orgs", "Administer organizations", newOrgsSetTierCommand())
}

func newOrgsSetTierCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "set-tier <organization id or a member's email> <free|paid|enterprise>",
		Short: "Change the tier of an organization",
		Long: "Change the tier of an organization. Existing checks stay as they are; the limits of the new tier\n" +
			"apply when they are next changed.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf(
					"set-tier needs an organization and a tier, such as: vigil orgs set-tier you@example.com paid (got %d words)", len(args),
				)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var wanted platform.Tier
			if err := wanted.UnmarshalText([]byte(args[1])); err != nil {
				return fmt.Errorf("the tier %w", err)
			}
			s, err := readSettings(cmd)
			if err != nil {
				return err
			}
			return withStore(cmd.Context(), &s, func(store *storage.Store) error {
				id, err := organizationID(cmd.Context(), store, args[0])
				if err != nil {
					return err
				}
				err = store.SetTier(asOperator(cmd, "organization.set_tier", id, id), id, account.Tier(wanted))
				if vigil.ErrorCode(err) == vigil.CodeNotFound {
					return fmt.Errorf("there is no organization %s", id)
				}
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "Organization %s is now of the tier %s.\n", id, args[1])
				return nil
			})
		},
	}
}

// organizationID parses an ID, or finds the organization of a member by email.
func organizationID(ctx context.Context, store *storage.Store, named string) (uuid.UUID, error) {
	if id, err := uuid.Parse(named); err == nil {
		return id, nil
	}
	user, err := store.UserByEmail(ctx, named)
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		return uuid.Nil, fmt.Errorf("%q is neither the id of an organization nor the address of an account", named)
	}
	return user.OrgID, err
}
