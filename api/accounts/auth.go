// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
)

// How long a valid credential is cached. A revoked key is refused within five
// seconds everywhere; the rest is for slow queries.
const (
	authTTL     = 4 * time.Second
	AuthEntries = 20_000
	touchEvery  = time.Minute
	// unknownEntries bounds the unknown keys that are remembered, so that a caller who
	// repeats one does not reach the database each time.
	unknownEntries = 1_000
)

// credentialStore is what authentication needs of the database.
type credentialStore interface {
	User(ctx context.Context, id uuid.UUID) (account.User, error)
	Organization(ctx context.Context, id uuid.UUID) (account.Organization, error)
	KeyByHash(ctx context.Context, hash []byte) (account.APIKey, account.Organization, account.User, error)
	KeyByID(ctx context.Context, id uuid.UUID) (account.APIKey, account.Organization, account.User, error)
	touchStore
}

// touchStore notes when credentials are used.
type touchStore interface {
	TouchKey(ctx context.Context, id uuid.UUID, at time.Time) error
}

// Authenticator identifies the caller of a request.
type Authenticator struct {
	store    credentialStore
	touched  touchStore
	now      func() time.Time
	signer   *Signer
	sessions *resource.Cache[rest.Caller] // by user id
	keys     *resource.Cache[rest.Caller] // by key hash, or key id
	unknown  *resource.Cache[struct{}]    // hashes that are of no key
	tasks    *resource.Tasks
	place    string // where store is, before the names in the caches; empty: the database
}

func newAuthenticator(store credentialStore, signer *Signer, tasks *resource.Tasks, now func() time.Time) *Authenticator {
	return &Authenticator{
		store:    store,
		touched:  store,
		now:      now,
		signer:   signer,
		sessions: resource.NewCache[rest.Caller](authTTL, AuthEntries, now),
		keys:     resource.NewCache[rest.Caller](authTTL, AuthEntries, now),
		unknown:  resource.NewCache[struct{}](authTTL, unknownEntries, now),
		tasks:    tasks,
	}
}

// Reading returns the same authenticator, with what it knows, that reads credentials elsewhere: from a copy of the database.
func (a *Authenticator) Reading(store credentialStore) *Authenticator {
	elsewhere := *a
	elsewhere.store, elsewhere.place = store, "standby "
	return &elsewhere
}

// named is the name in the caches of what is read for a request. What a copy has is not taken for what the database has, least of
// all while the copy is read alone.
func (a *Authenticator) named(ctx context.Context, name string) string {
	if rest.RequestOf(ctx).Alone {
		return "alone " + name
	}
	return a.place + name
}

// Authenticate is a middleware that sets the caller of a request, or refuses it
// with 401.
func (a *Authenticator) Authenticate(ctx huma.Context, next func(huma.Context)) {
	rest.Guard(func(ctx huma.Context) error {
		who, err := a.Identify(ctx.Context(), ctx.Header("Authorization"), ctx.Header("X-API-Key"))
		rest.RequestOf(ctx.Context()).Caller = who
		return err
	})(ctx, next)
}

// Identify reads the credentials of a request. A bearer credential decides by
// its prefix whether it is a key or a token (spec section 5). A request that this process
// makes for a session needs none.
func (a *Authenticator) Identify(ctx context.Context, authorization, apiKey string) (*rest.Caller, error) {
	if userID, version, ok := rest.ActingUser(ctx); ok {
		return a.bySession(ctx, userID, version)
	}
	scheme, credential, _ := strings.Cut(authorization, " ")
	credential = strings.TrimSpace(credential)
	switch {
	case strings.EqualFold(scheme, "Bearer") && strings.HasPrefix(credential, keyPrefix):
		return a.byKey(ctx, credential)
	case strings.EqualFold(scheme, "Bearer") && credential != "":
		return a.byToken(ctx, credential)
	case apiKey != "":
		return a.byKey(ctx, strings.TrimSpace(apiKey))
	case authorization != "":
		return nil, vigil.Errorf(vigil.CodeUnauthorized, "The Authorization header must be: Bearer, a space, and a token or an API key.")
	}
	return nil, vigil.Errorf(vigil.CodeUnauthorized,
		"The Authorization header is missing: send \"Authorization: Bearer\" with a token or an API key, or the key in X-API-Key.")
}

func (a *Authenticator) byKey(ctx context.Context, key string) (*rest.Caller, error) {
	if !wellFormed(key) {
		return nil, errBadKey()
	}
	hash := hashKey(key)
	name := a.named(ctx, string(hash))
	if a.unknown.Holds(name) {
		return nil, errBadKey()
	}
	who, err := a.knownKey(ctx, name, func(ctx context.Context) (account.APIKey, account.Organization, account.User, error) {
		return a.store.KeyByHash(ctx, hash)
	})
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		a.unknown.Keep(name, struct{}{})
		return nil, errBadKey()
	}
	return who, err
}

// ByKeyID returns the caller whom a key identifies; CodeNotFound when it was revoked, and
// CodeUnauthorized when it has expired.
func (a *Authenticator) ByKeyID(ctx context.Context, id uuid.UUID) (*rest.Caller, error) {
	return a.knownKey(ctx, a.named(ctx, id.String()), func(ctx context.Context) (account.APIKey, account.Organization, account.User, error) {
		return a.store.KeyByID(ctx, id)
	})
}

// knownKey returns the caller of a key that find reads, unless the cache has it by the name.
func (a *Authenticator) knownKey(
	ctx context.Context, name string, find func(context.Context) (account.APIKey, account.Organization, account.User, error),
) (*rest.Caller, error) {
	who, err := a.keys.Get(ctx, name, func(ctx context.Context) (rest.Caller, error) {
		key, org, user, err := find(ctx)
		if err != nil {
			return rest.Caller{}, err
		}
		a.touch(ctx, key)
		return rest.Caller{User: user, Org: org, Key: key}, nil
	})
	if err != nil {
		return nil, err
	}
	if who.Key.Expired(a.now()) {
		return nil, vigil.Errorf(vigil.CodeUnauthorized, "The API key has expired at %s.", who.Key.ExpiresAt.UTC().Format(time.RFC3339))
	}
	return &who, nil
}

// touch notes that a key is used, about once a minute.
func (a *Authenticator) touch(ctx context.Context, key account.APIKey) {
	now := a.now()
	if rest.RequestOf(ctx).Alone {
		return // it cannot be noted
	}
	if key.LastUsedAt != nil && now.Sub(*key.LastUsedAt) < touchEvery {
		return
	}
	a.tasks.Start(ctx, "note the use of an API key", func(ctx context.Context) error {
		return a.touched.TouchKey(ctx, key.ID, now)
	})
}

func (a *Authenticator) byToken(ctx context.Context, token string) (*rest.Caller, error) {
	said, err := a.signer.Read(token)
	if err != nil {
		return nil, errBadToken()
	}
	userID, err := uuid.Parse(said.Subject)
	if err != nil {
		return nil, errBadToken()
	}
	who, err := a.byUser(ctx, userID, said.Session)
	if err == nil && who == nil {
		err = errBadToken()
	}
	return who, err
}

func (a *Authenticator) bySession(ctx context.Context, userID uuid.UUID, version int64) (*rest.Caller, error) {
	who, err := a.byUser(ctx, userID, version)
	switch {
	case err != nil:
		return nil, err
	case who == nil:
		return nil, vigil.Errorf(vigil.CodeUnauthorized, "The session has ended: sign in again.")
	}
	who.Session = true
	return who, nil
}

// byUser returns a user as a caller, or nil when the user is gone, or the session version
// is an old one.
func (a *Authenticator) byUser(ctx context.Context, userID uuid.UUID, session int64) (*rest.Caller, error) {
	read := func(ctx context.Context) (rest.Caller, error) {
		user, err := a.store.User(ctx, userID)
		if err != nil {
			return rest.Caller{}, err
		}
		org, err := a.store.Organization(ctx, user.OrgID)
		return rest.Caller{User: user, Org: org}, err
	}
	name := a.named(ctx, userID.String())
	who, err := a.sessions.Get(ctx, name, read)
	if err == nil && who.User.SessionVersion < session {
		// Another process has ended all sessions since, and this one began after that.
		a.forgetUser(userID)
		who, err = a.sessions.Get(ctx, name, read)
	}
	switch {
	case vigil.ErrorCode(err) == vigil.CodeNotFound:
		return nil, nil //nolint:nilnil // the callers have errors of their own
	case err != nil:
		return nil, err
	case who.User.SessionVersion != session:
		return nil, nil //nolint:nilnil // as above
	}
	return &who, nil
}

// forgetKey drops a key from the cache, so that a revocation acts at once in this process.
func (a *Authenticator) forgetKey(id uuid.UUID) {
	a.keys.Drop(func(p rest.Caller) bool { return p.Key.ID == id })
}

// forgetUser drops a user from the cache, so that a change acts at once in this process.
func (a *Authenticator) forgetUser(id uuid.UUID) {
	matches := func(p rest.Caller) bool { return p.User.ID == id }
	a.keys.Drop(matches)
	a.sessions.Drop(matches)
}

// forgetOrganization drops everyone of an organization from the cache, so that a change acts
// at once in this process.
func (a *Authenticator) forgetOrganization(id uuid.UUID) {
	matches := func(p rest.Caller) bool { return p.Org.ID == id }
	a.keys.Drop(matches)
	a.sessions.Drop(matches)
}

func errBadKey() error {
	return vigil.Errorf(vigil.CodeUnauthorized, "The API key is not valid: it was mistyped, or revoked.")
}

func errBadToken() error {
	return vigil.Errorf(vigil.CodeUnauthorized, "The token is not valid or has expired: log in again.")
}
