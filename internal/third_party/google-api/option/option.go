// SPDX-License-Identifier: Apache-2.0

// Package option stands in for that of Google's API client, see internal/third_party/README.md.
package option

// ClientOption configures a client.
type ClientOption interface{}

// WithTokenSource sets nothing.
func WithTokenSource(any) ClientOption { return nil }
