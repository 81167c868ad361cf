// SPDX-License-Identifier: Apache-2.0

// Package storage stands in for Google's client of Cloud Storage, see internal/third_party/README.md.
package storage

import (
	"context"
	"errors"

	"google.golang.org/api/option"
)

// ScopeFullControl is the scope of a token.
const ScopeFullControl = "https://www.googleapis.com/auth/devstorage.full_control"

var errLeftOut = errors.New("the client of Google Cloud Storage is not part of this program")

type (
	// Client calls nothing.
	Client struct{}
	// BucketHandle is a bucket.
	BucketHandle struct{}
	// BucketAttrs are a bucket's metadata.
	BucketAttrs struct{ Name string }
	// ObjectHandle is an object.
	ObjectHandle struct{}
	// ObjectAttrs are an object's metadata.
	ObjectAttrs struct{ Name string }
	// ObjectIterator has no objects.
	ObjectIterator struct{}
	// Query selects objects.
	Query struct{ Prefix string }
	// Reader reads an object.
	Reader struct{}
	// Writer writes an object.
	Writer struct{}
)

// NewClient fails, so that nothing else here is called.
func NewClient(context.Context, ...option.ClientOption) (*Client, error) { return nil, errLeftOut }

// Bucket returns a bucket whose methods fail.
func (*Client) Bucket(string) *BucketHandle { return &BucketHandle{} }

// Object returns an object whose methods fail.
func (*BucketHandle) Object(string) *ObjectHandle { return &ObjectHandle{} }

// Objects returns an iterator that fails.
func (*BucketHandle) Objects(context.Context, *Query) *ObjectIterator { return &ObjectIterator{} }

// Attrs fails.
func (*BucketHandle) Attrs(context.Context) (*BucketAttrs, error) { return nil, errLeftOut }

// NewWriter returns a writer that fails.
func (*ObjectHandle) NewWriter(context.Context) *Writer { return &Writer{} }

// NewReader fails.
func (*ObjectHandle) NewReader(context.Context) (*Reader, error) { return nil, errLeftOut }

// Attrs fails.
func (*ObjectHandle) Attrs(context.Context) (*ObjectAttrs, error) { return nil, errLeftOut }

// Next fails.
func (*ObjectIterator) Next() (*ObjectAttrs, error) { return nil, errLeftOut }

// Read fails.
func (*Reader) Read([]byte) (int, error) { return 0, errLeftOut }

// Close does nothing.
func (*Reader) Close() error { return nil }

// Write fails.
func (*Writer) Write([]byte) (int, error) { return 0, errLeftOut }

// Close fails.
func (*Writer) Close() error { return errLeftOut }

// CloseWithError does nothing.
func (*Writer) CloseWithError(error) error { return nil }
