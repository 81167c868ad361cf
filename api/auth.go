package api

import (
	"context"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"vigil"
)

// How long a credential that was found good is believed. A revoked key is
// refused within five seconds everywhere; the rest is for slow questions.
const (
	authBelief  = 4 * time.Second
	authEntries = 20_000
	touchEvery  = time.Minute
)

// principal is who makes a request.
type principal struct {
	user vigil.User
	org  vigil.Organization
	// key is that of the request; zero for a session token.
	key vigil.APIKey
}

// plan is what the caller's organization may do.
func (s *Server) plan(who *principal) vigil.Plan {
	return vigil.PlanOf(who.org.Tier, s.Config.EnterpriseMinInterval)
}

// authenticator finds out who makes a request.
type authenticator struct {
	store    store
	now      func() time.Time
	signer   *signer
	sessions *cache[principal] // by user id
	keys     *cache[principal] // by key hash
	tasks    *tasks
}

func newAuthenticator(st store, signer *signer, tasks *tasks, now func() time.Time) *authenticator {
	return &authenticator{
		store:    st,
		now:      now,
		signer:   signer,
		sessions: newCache[principal](authBelief, authEntries, now),
		keys:     newCache[principal](authBelief, authEntries, now),
		tasks:    tasks,
	}
}

// authenticate lets an operation happen for a known caller only.
func (s *Server) authenticate(ctx huma.Context, next func(huma.Context)) {
	who, err := s.auth.identify(ctx.Context(), ctx.Header("Authorization"), ctx.Header("X-API-Key"))
	if err != nil {
		refuse(ctx, err)
		return
	}
	requestOf(ctx.Context()).who = who
	next(ctx)
}

// caller returns who makes the request of ctx. Only operations that are not
// open may ask.
func caller(ctx context.Context) *principal { return requestOf(ctx).who }

// identify reads the credentials of a request. A bearer credential decides by
// its prefix whether it is a key or a token (spec section 5).
func (a *authenticator) identify(ctx context.Context, authorization, apiKey string) (*principal, error) {
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

func (a *authenticator) byKey(ctx context.Context, key string) (*principal, error) {
	if !wellFormed(key) {
		return nil, errBadKey()
	}
	hash := hashKey(key)
	who, err := a.keys.get(ctx, string(hash), func(ctx context.Context) (principal, error) {
		key, org, user, err := a.store.KeyByHash(ctx, hash)
		if err != nil {
			return principal{}, err
		}
		a.touch(ctx, key)
		return principal{user: user, org: org, key: key}, nil
	})
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		return nil, errBadKey()
	}
	if err != nil {
		return nil, err
	}
	return &who, nil
}

// touch notes that a key is used, about once a minute.
func (a *authenticator) touch(ctx context.Context, key vigil.APIKey) {
	now := a.now()
	if key.LastUsedAt != nil && now.Sub(*key.LastUsedAt) < touchEvery {
		return
	}
	a.tasks.start(ctx, "note the use of an API key", func(ctx context.Context) error {
		return a.store.TouchKey(ctx, key.ID, now)
	})
}

func (a *authenticator) byToken(ctx context.Context, token string) (*principal, error) {
	userID, session, err := a.signer.read(token)
	if err != nil {
		return nil, errBadToken()
	}
	who, err := a.sessions.get(ctx, userID.String(), func(ctx context.Context) (principal, error) {
		user, err := a.store.User(ctx, userID)
		if err != nil {
			return principal{}, err
		}
		org, err := a.store.Organization(ctx, user.OrgID)
		return principal{user: user, org: org}, err
	})
	switch {
	case vigil.ErrorCode(err) == vigil.CodeNotFound:
		return nil, errBadToken()
	case err != nil:
		return nil, err
	case who.user.SessionVersion != session:
		return nil, errBadToken()
	}
	return &who, nil
}

// forgetKey makes a revocation act at once in this process.
func (a *authenticator) forgetKey(id uuid.UUID) {
	a.keys.drop(func(p principal) bool { return p.key.ID == id })
}

// forgetUser makes a change of a user act at once in this process.
func (a *authenticator) forgetUser(id uuid.UUID) {
	of := func(p principal) bool { return p.user.ID == id }
	a.keys.drop(of)
	a.sessions.drop(of)
}

func errBadKey() error {
	return vigil.Errorf(vigil.CodeUnauthorized, "The API key is not valid: it was mistyped, or revoked.")
}

func errBadToken() error {
	return vigil.Errorf(vigil.CodeUnauthorized, "The token is not valid or has expired: log in again.")
}
