// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"

	"github.com/google/uuid"
)

// knownBrowser is a browser in which a user has signed in before.
type knownBrowser struct {
	userID uuid.UUID
	id     string
}

type knownBrowserKey struct{}

// FromBrowser returns a context under which requests that this process makes to the API come
// from a browser in which the user has signed in before. No header says so.
func FromBrowser(ctx context.Context, userID uuid.UUID, browser string) context.Context {
	return context.WithValue(ctx, knownBrowserKey{}, knownBrowser{userID: userID, id: browser})
}

// Origin names where an attempt to sign in as a user comes from: the browser, when the user
// has signed in there before, else the network of the client.
func Origin(ctx context.Context, userID uuid.UUID) string {
	if known, ok := ctx.Value(knownBrowserKey{}).(knownBrowser); ok && known.userID == userID && userID != uuid.Nil {
		return "browser/" + known.id
	}
	return "network/" + Network(RequestOf(ctx).Address)
}
