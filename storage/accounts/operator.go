// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/storage/pg"
)

// Operator returns the account that CreateOperator made; CodeNotFound when there is none
// yet.
func (s *Store) Operator(ctx context.Context) (account.User, error) {
	var row UserRow
	err := s.db.NewSelect().Model(&row).Where("u.operator").Scan(ctx)
	return row.User(), pg.Found("operator", err)
}

// CreateOperator is CreateAccount for the account of the platform's operator, and the only
// way to one. A second such account, and an address that is in use, are CodeConflict errors.
func (s *Store) CreateOperator(
	ctx context.Context, org account.Organization, user account.User, key *account.NewKey,
) (account.User, account.Organization, error) {
	user.Operator = true
	return s.createAccount(ctx, org, user, key, nil)
}

// requireNoOperator refuses a change that takes the operator's account its rights: the
// commands of the platform act as that account.
func requireNoOperator(user account.User) error {
	if !user.Operator {
		return nil
	}
	return vigil.Errorf(vigil.CodeConflict, "%s is the account of the platform's operator, which stays an owner.", user.Email)
}
