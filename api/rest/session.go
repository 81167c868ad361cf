// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"cmp"
	"context"
	"net/http"

	"github.com/google/uuid"
)

// SessionRate is how many requests a minute the sessions of one user may cause in one
// process. They do not count in the rate of the organization: a page makes several.
const SessionRate = 3000

// acting is the user whose session makes a request.
type acting struct {
	userID  uuid.UUID
	version int64
}

type actingKey struct{}

// ActAs returns a context under which requests that this process makes to the API are
// those of a user, without a credential. The version is the user's session version when
// the session began: a request of an older one is answered 401, as an older token is.
func ActAs(ctx context.Context, userID uuid.UUID, version int64) context.Context {
	return context.WithValue(ctx, actingKey{}, acting{userID: userID, version: version})
}

type backgroundKey struct{}

// InBackground returns a context under which requests of a session count apart, up to SessionRate as
// well: what open pages read by themselves does not keep their user from anything.
func InBackground(ctx context.Context) context.Context {
	return context.WithValue(ctx, backgroundKey{}, true)
}

func inBackground(ctx context.Context) bool { return ctx.Value(backgroundKey{}) != nil }

// ActingUser returns the user of ActAs; ok is false outside of it.
func ActingUser(ctx context.Context) (userID uuid.UUID, version int64, ok bool) {
	who, ok := ctx.Value(actingKey{}).(acting)
	return who.userID, who.version, ok
}

// within gives a request that is made while another one is answered in this process the
// id and the client of that one. A User-Agent of its own stays: the outer request may act
// for a program that it knows more about than its header says.
func (r *Request) within(ctx context.Context) {
	if outer, ok := ctx.Value(requestKey{}).(*Request); ok {
		r.ID, r.Address, r.Local, r.agent = outer.ID, outer.Address, outer.Local, cmp.Or(r.agent, outer.agent)
	}
}

// IsAnonymous reports whether a request shows no credential: no header of one, and no session that this process acts for.
func IsAnonymous(r *http.Request) bool {
	_, _, acts := ActingUser(r.Context())
	return !acts && r.Header.Get("Authorization") == "" && r.Header.Get("X-API-Key") == ""
}
