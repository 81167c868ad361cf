// SPDX-License-Identifier: Apache-2.0

// Package v4 stands in for that of the AWS SDK, see internal/third_party/README.md.
package v4

import (
	"context"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Signer signs nothing.
type Signer struct{}

// NewSigner returns one.
func NewSigner() *Signer { return &Signer{} }

// SignHTTP fails.
func (*Signer) SignHTTP(context.Context, aws.Credentials, *http.Request, string, string, string, time.Time) error {
	return aws.ErrLeftOut
}
