// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// keyStore keeps API keys.
type keyStore interface {
	CreateKey(ctx context.Context, orgID, userID uuid.UUID, key account.NewKey) (account.APIKey, error)
	Keys(ctx context.Context, orgID uuid.UUID, page listing.Page) ([]account.APIKey, int, error)
	DeleteKey(ctx context.Context, orgID, id uuid.UUID) error
}

type apiKeys struct {
	store keyStore
	auth  *Authenticator
	mail  *accountMail
	now   func() time.Time
}

// KeyView is an API key without the key.
type KeyView struct {
	ID         uuid.UUID       `json:"id" format:"uuid"`
	Name       string          `json:"name" example:"deployment"`
	KeyPrefix  string          `json:"key_prefix" doc:"The first characters of the key, to recognize it." example:"vgl_8mKq2VxT"`
	CreatedAt  time.Time       `json:"created_at"`
	LastUsedAt *time.Time      `json:"last_used_at" doc:"When the key was last used, to about a minute; null before its first use."`
	Scopes     []account.Scope `json:"scopes" enum:"read,respond,write,admin" doc:"What the key may do, as far as the role of its user allows it."`
	ExpiresAt  *time.Time      `json:"expires_at" doc:"When the key stops to work; null: never."`
	UserID     uuid.UUID       `json:"user_id" format:"uuid" doc:"The member who owns the key. The key is revoked when the member is removed."`
}

// newKeyView is an API key together with the key, which is shown only once.
type newKeyView struct {
	KeyView
	APIKey string `json:"api_key" doc:"The key. It is shown only once." example:"vgl_8mKq2VxTz0bYd4RfWc7NjH1sLgPaEu5i0Xo2Qp"`
}

func showKey(k account.APIKey) KeyView {
	view := KeyView{ID: k.ID, Name: k.Name, KeyPrefix: k.Prefix, CreatedAt: k.CreatedAt.UTC(), Scopes: k.Scopes, UserID: k.UserID}
	if k.ExpiresAt != nil {
		view.ExpiresAt = new(k.ExpiresAt.UTC())
	}
	if k.LastUsedAt != nil {
		view.LastUsedAt = new(k.LastUsedAt.UTC())
	}
	return view
}

// keyBody creates a key. The other members of a key are accepted and ignored.
type keyBody struct {
	Name      string     `json:"name" minLength:"1" maxLength:"200" example:"deployment"`
	Scopes    []string   `json:"scopes,omitempty" minItems:"1" enum:"read,respond,write,admin" doc:"What the key may do; without it, what the credential of the request may do."`
	ExpiresAt *time.Time `json:"expires_at,omitempty" nullable:"true" doc:"When the key stops to work; without it, when the key of the request does, or never."`

	ID         any `json:"id,omitempty" readOnly:"true" doc:"Ignored."`
	KeyPrefix  any `json:"key_prefix,omitempty" readOnly:"true" doc:"Ignored."`
	CreatedAt  any `json:"created_at,omitempty" readOnly:"true" doc:"Ignored."`
	LastUsedAt any `json:"last_used_at,omitempty" readOnly:"true" doc:"Ignored."`
	APIKey     any `json:"api_key,omitempty" readOnly:"true" doc:"Ignored."`
	UserID     any `json:"user_id,omitempty" readOnly:"true" doc:"Ignored."`
}

func (k *apiKeys) Register(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: "/v1/api-keys", ID: "list-api-keys", Tag: resource.TagKeys, Scope: account.ScopeAdmin,
		Summary: "List the organization's API keys, newest first",
	}, func(ctx context.Context, in *struct{ rest.PageQuery }) (*rest.Listing[KeyView], error) {
		keys, total, err := k.store.Keys(ctx, rest.CallerOf(ctx).Org.ID, in.Page())
		if err != nil {
			return nil, err
		}
		return rest.NewListing(keys, total, showKey), nil
	})
	rest.Register(r, rest.Operation{
		Method:     http.MethodPost,
		Path:       "/v1/api-keys",
		ID:         "create-api-key",
		Tag:        resource.TagKeys,
		Scope:      account.ScopeAdmin,
		Status:     http.StatusCreated,
		Audit:      "api_key.create",
		Idempotent: true,
		Summary:    "Create an API key",
		Description: "The key is in `api_key`, which is shown once. A request that is repeated with its Idempotency-Key is answered " +
			"without it: `api_key` is empty then. A key that got lost is revoked, and another one created. " +
			"The owner is mailed, and again 7 days before the key stops to work.",
		Errors: []int{http.StatusForbidden},
	}, k.createKey)
	rest.Register(r, rest.Operation{
		Method: http.MethodDelete, Path: "/v1/api-keys/{id}", ID: "delete-api-key", Tag: resource.TagKeys, Scope: account.ScopeAdmin,
		Status: http.StatusNoContent, Audit: "api_key.delete",
		Summary: "Revoke an API key", Resource: resourceKey,
		Description: "Takes effect everywhere within 5 seconds.",
	}, k.deleteKey)
}

// resourceKey names a key in errors.
const resourceKey = "API key"

func (k *apiKeys) createKey(ctx context.Context, in *struct{ Body keyBody }) (*rest.Answer[newKeyView], error) {
	name, err := rest.CleanName("name", in.Body.Name)
	if err != nil {
		return nil, err
	}
	plain, kept, err := NewKey(name)
	if err != nil {
		return nil, err
	}
	who := rest.CallerOf(ctx)
	if kept.Scopes, kept.ExpiresAt, err = k.delegate(who, in.Body); err != nil {
		return nil, err
	}
	kept.Creator = who.Credential()
	rest.ShowRepeated(ctx, func(key account.APIKey) newKeyView { return newKeyView{KeyView: showKey(key)} })
	key, err := k.store.CreateKey(ctx, who.Org.ID, who.User.ID, kept)
	if err != nil {
		return nil, err
	}
	k.mail.keyCreated(ctx, who.User, key)
	return rest.NewAnswer(newKeyView{KeyView: showKey(key), APIKey: plain}), nil
}

// delegate returns the scopes and the end of a new key: at most those of the caller's own
// key, which are also what it gets when the body says nothing.
func (k *apiKeys) delegate(who *rest.Caller, body keyBody) ([]account.Scope, *time.Time, error) {
	scopes, end := who.Scopes(), who.Key.ExpiresAt
	if body.Scopes != nil {
		var err error
		if scopes, err = account.ParseScopes("scopes", body.Scopes); err != nil {
			return nil, nil, err
		}
		for _, scope := range scopes {
			if err := who.Require(scope); err != nil {
				return nil, nil, err
			}
		}
	}
	if body.ExpiresAt == nil {
		return scopes, end, nil
	}
	switch until := *body.ExpiresAt; {
	case !until.After(k.now()):
		return nil, nil, vigil.Invalid("expires_at", "must be in the future")
	case end != nil && until.After(*end):
		return nil, nil, vigil.Invalid(
			"expires_at",
			"must not be after the end of the key that creates this one, %s",
			end.UTC().Format(time.RFC3339),
		)
	default:
		return scopes, &until, nil
	}
}

func (k *apiKeys) deleteKey(ctx context.Context, in *rest.IDPath) (*struct{}, error) {
	id, err := in.Parse(resourceKey)
	if err != nil {
		return nil, err
	}
	if err := k.store.DeleteKey(ctx, rest.CallerOf(ctx).Org.ID, id); err != nil {
		return nil, err
	}
	k.auth.forgetKey(id)
	return nil, nil //nolint:nilnil // Huma's way to answer without a body
}
