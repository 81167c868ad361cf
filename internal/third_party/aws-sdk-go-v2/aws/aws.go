// SPDX-License-Identifier: Apache-2.0

// Package aws stands in for that of the AWS SDK, see internal/third_party/README.md.
package aws

import (
	"context"
	"errors"
)

// ErrLeftOut is what every call of the services returns.
var ErrLeftOut = errors.New("the AWS SDK is not part of this program")

type (
	// ClientLogMode says what a client logs.
	ClientLogMode uint64
	// Config configures a client.
	Config struct{ Credentials CredentialsProvider }
	// Credentials sign requests.
	Credentials struct{ AccessKeyID, SecretAccessKey, SessionToken string }
	// CredentialsProvider fetches credentials.
	CredentialsProvider interface {
		Retrieve(ctx context.Context) (Credentials, error)
	}
	// Retryer says which errors another attempt may help with.
	Retryer interface{ IsErrorRetryable(err error) bool }
)

// String returns a pointer to v.
func String(v string) *string { return &v }

// Int32 returns a pointer to v.
func Int32(v int32) *int32 { return &v }
