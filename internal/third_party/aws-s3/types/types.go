// SPDX-License-Identifier: Apache-2.0

// Package types stands in for that of S3 in the AWS SDK, see internal/third_party/README.md.
package types

type (
	// CommonPrefix is a part of a key that several objects begin with.
	CommonPrefix struct{ Prefix *string }
	// Object is a stored object.
	Object struct{ Key *string }
	// NoSuchBucket says that a bucket does not exist.
	NoSuchBucket struct{}
	// NoSuchKey says that an object does not exist.
	NoSuchKey struct{}
)

// Error names the error.
func (*NoSuchBucket) Error() string { return "NoSuchBucket" }

// Error names the error.
func (*NoSuchKey) Error() string { return "NoSuchKey" }
