// SPDX-License-Identifier: Apache-2.0

// Package smithy stands in for github.com/aws/smithy-go, see internal/third_party/README.md.
package smithy

// APIError is what the Temporal server asks an error of S3 for.
type APIError interface {
	error
	// ErrorCode is the code of the service.
	ErrorCode() string
}
