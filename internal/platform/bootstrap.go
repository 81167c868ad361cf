// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/audit"
)

// OperatorEmail is the address of the operator's own account, which is found by its mark
// and not by its address.
const OperatorEmail = "operator@" + account.OperatorDomain

// operatorStore finds the operator's account.
type operatorStore interface {
	Operator(ctx context.Context) (account.User, error)
}

// accountStore finds and creates the operator's account.
type accountStore interface {
	operatorStore
	CreateOperator(
		ctx context.Context,
		org account.Organization,
		user account.User,
		key *account.NewKey,
	) (account.User, account.Organization, error)
}

// DefaultKeyName is the default name of the operator's key.
const DefaultKeyName = "bootstrap"

// Bootstrap creates the operator's account, an organization of the enterprise tier, if
// there is none. The first call returns the account's API key, listed under the given
// name; later ones return "", since only the key's hash is stored.
func Bootstrap(ctx context.Context, store accountStore, name string) (string, error) {
	_, err := store.Operator(ctx)
	if err == nil {
		return "", nil
	}
	if vigil.ErrorCode(err) != vigil.CodeNotFound {
		return "", fmt.Errorf("look for the operator's account: %w", err)
	}
	plain, kept, err := api.NewKey(name)
	if err != nil {
		return "", err
	}
	created, err := CreateOperator(ctx, store, &kept)
	if err != nil || !created {
		return "", err // another process created it, and has shown the key
	}
	return plain, nil
}

// CreateOperator creates the operator's account, with a key unless it is nil. It returns
// false when there is one by now.
func CreateOperator(ctx context.Context, store accountStore, key *account.NewKey) (bool, error) {
	org := account.Organization{ID: uuid.New(), Name: "Operator", Tier: account.TierEnterprise}
	if entry := audit.FromContext(ctx); entry != nil {
		entry.OrgID = org.ID
	}
	user := account.User{Email: OperatorEmail, EmailVerified: true, Name: "operator"}
	_, _, err := store.CreateOperator(ctx, org, user, key)
	if vigil.ErrorCode(err) == vigil.CodeConflict {
		_, missing := store.Operator(ctx)
		if missing == nil {
			return false, nil
		}
		err = errors.Join(err, missing)
	}
	if err != nil {
		return false, fmt.Errorf("create the operator's account: %w", err)
	}
	return true, nil
}

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
	ctx = audit.NewContext(ctx, &audit.Entry{OrgID: user.OrgID, Action: ActionLoginLink, ResourceID: user.ID, UserAgent: "vigil up"})
	return NewLoginLink(ctx, store, user.ID, base)
}

// NewLoginLink makes a link that signs in a user below the address of an API.
func NewLoginLink(ctx context.Context, store linkStore, userID uuid.UUID, base string) (string, error) {
	token, hash, err := api.NewLoginLink()
	if err != nil {
		return "", err
	}
	return base + "/app/first-run?token=" + token, store.CreateLoginLink(ctx, userID, hash)
}

// ActionLoginLink is the action of making a link, in the audit log.
const ActionLoginLink = "account.create_login_link"
