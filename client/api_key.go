// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"net/http"
)

// WithAPIKey makes a client send an API key, or a session token, with each request.
func WithAPIKey(key string) ClientOption {
	return WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+key)
		return nil
	})
}
