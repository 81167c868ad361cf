// SPDX-License-Identifier: Apache-2.0

// Package retry stands in for that of the AWS SDK, see internal/third_party/README.md.
package retry

// Standard retries nothing.
type Standard struct{}

// NewStandard returns one.
func NewStandard() *Standard { return &Standard{} }

// IsErrorRetryable is false: nothing is called.
func (*Standard) IsErrorRetryable(error) bool { return false }
