// SPDX-License-Identifier: Apache-2.0

// Package s3 stands in for that of the AWS SDK, see internal/third_party/README.md.
package s3

import (
	"context"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

type (
	// Client calls nothing: each of its methods fails.
	Client struct{}
	// Options configure it.
	Options struct {
		BaseEndpoint *string
		UsePathStyle bool
	}
	// HeadBucketInput names a bucket.
	HeadBucketInput struct{ Bucket *string }
	// HeadBucketOutput is empty.
	HeadBucketOutput struct{}
	// HeadObjectInput names an object.
	HeadObjectInput struct{ Bucket, Key *string }
	// HeadObjectOutput is empty.
	HeadObjectOutput struct{}
	// PutObjectInput is an object to store.
	PutObjectInput struct {
		Bucket, Key *string
		Body        io.Reader
	}
	// PutObjectOutput is empty.
	PutObjectOutput struct{}
	// GetObjectInput names an object.
	GetObjectInput struct{ Bucket, Key *string }
	// GetObjectOutput is an object.
	GetObjectOutput struct{ Body io.ReadCloser }
	// ListObjectsV2Input selects objects.
	ListObjectsV2Input struct {
		Bucket, Prefix, Delimiter, ContinuationToken *string
		MaxKeys                                      *int32
	}
	// ListObjectsV2Output is a page of objects.
	ListObjectsV2Output struct {
		CommonPrefixes        []types.CommonPrefix
		Contents              []types.Object
		IsTruncated           *bool
		NextContinuationToken *string
	}
)

// NewFromConfig returns a client that calls nothing.
func NewFromConfig(aws.Config, ...func(*Options)) *Client { return &Client{} }

// HeadBucket fails.
func (*Client) HeadBucket(context.Context, *HeadBucketInput, ...func(*Options)) (*HeadBucketOutput, error) {
	return nil, aws.ErrLeftOut
}

// HeadObject fails.
func (*Client) HeadObject(context.Context, *HeadObjectInput, ...func(*Options)) (*HeadObjectOutput, error) {
	return nil, aws.ErrLeftOut
}

// PutObject fails.
func (*Client) PutObject(context.Context, *PutObjectInput, ...func(*Options)) (*PutObjectOutput, error) {
	return nil, aws.ErrLeftOut
}

// GetObject fails.
func (*Client) GetObject(context.Context, *GetObjectInput, ...func(*Options)) (*GetObjectOutput, error) {
	return nil, aws.ErrLeftOut
}

// ListObjectsV2 fails.
func (*Client) ListObjectsV2(context.Context, *ListObjectsV2Input, ...func(*Options)) (*ListObjectsV2Output, error) {
	return nil, aws.ErrLeftOut
}
