// SPDX-License-Identifier: Apache-2.0

// Package credentials stands in for that of the AWS SDK, see internal/third_party/README.md.
package credentials

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// StaticCredentialsProvider has no credentials.
type StaticCredentialsProvider struct{}

// NewStaticCredentialsProvider returns one.
func NewStaticCredentialsProvider(key, secret, session string) StaticCredentialsProvider {
	return StaticCredentialsProvider{}
}

// Retrieve fails.
func (StaticCredentialsProvider) Retrieve(context.Context) (aws.Credentials, error) {
	return aws.Credentials{}, aws.ErrLeftOut
}
