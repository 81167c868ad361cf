// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/audit"
	"github.com/vigil-monitor/vigil/storage"

	"github.com/vigil-monitor/vigil/internal/platform"
)

// actionFirstKey is the action of a command that creates the operator's account.
const actionFirstKey = "account.signup"

// asOperator returns the context of a command whose change is noted in the audit log of
// the organization that it concerns. Such an entry has no user and no address; its user
// agent is the command.
func asOperator(cmd *cobra.Command, action string, orgID, resourceID uuid.UUID) context.Context {
	return audit.NewContext(cmd.Context(), &audit.Entry{
		OrgID: orgID, Action: action, ResourceID: resourceID, UserAgent: cmd.CommandPath(),
	})
}

// accountOf returns the account of the flag --email; without the flag, that of the operator,
// which is created, without a key, when there is none yet.
func accountOf(cmd *cobra.Command, store *storage.Store, email string) (account.User, error) {
	ctx := cmd.Context()
	if !cmd.Flags().Changed("email") {
		user, err := store.Operator(ctx)
		if vigil.ErrorCode(err) != vigil.CodeNotFound {
			return user, err
		}
		if _, err = platform.CreateOperator(asOperator(cmd, actionFirstKey, uuid.Nil, uuid.Nil), store, nil); err != nil {
			return user, err
		}
		return store.Operator(ctx)
	}
	user, err := store.UserByEmail(ctx, email)
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		return user, fmt.Errorf("there is no account with the address %s", email)
	}
	return user, err
}

// noteOperator notes a command that concerns the whole platform in the audit log of the
// operator's organization, once there is one.
func noteOperator(cmd *cobra.Command, store *storage.Store, action string) error {
	operator, err := store.Operator(cmd.Context())
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	return store.RecordAudit(asOperator(cmd, action, operator.OrgID, uuid.Nil))
}
