// SPDX-License-Identifier: Apache-2.0

// Package elastic stands in for the client of Elasticsearch, see internal/third_party/README.md.
package elastic

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"
)

var errLeftOut = errors.New("the Elasticsearch client is not part of this program")

type (
	// Client calls nothing: NewClient fails.
	Client struct{}
	// ClientOptionFunc changes nothing.
	ClientOptionFunc func(*Client) error
	// Logger writes lines.
	Logger interface{ Printf(format string, v ...any) }
	// NumberDecoder decodes numbers.
	NumberDecoder struct{}
	// PerformRequestOptions are a request without a type.
	PerformRequestOptions struct {
		Method, Path, ContentType string
		Params                    url.Values
		Headers                   http.Header
		Body                      any
	}
	// Service is a request that fails, of which R would be the answer.
	Service[R any] struct{}
	// PingService is the one whose answer has a status code.
	PingService struct{}
)

// NewClient fails.
func NewClient(...ClientOptionFunc) (*Client, error) { return nil, errLeftOut }

func noOption(*Client) error { return nil }

// SetURL changes nothing.
func SetURL(...string) ClientOptionFunc { return noOption }

// SetBasicAuth changes nothing.
func SetBasicAuth(_, _ string) ClientOptionFunc { return noOption }

// SetHealthcheck changes nothing.
func SetHealthcheck(bool) ClientOptionFunc { return noOption }

// SetSniff changes nothing.
func SetSniff(bool) ClientOptionFunc { return noOption }

// SetRetrier changes nothing.
func SetRetrier(any) ClientOptionFunc { return noOption }

// SetDecoder changes nothing.
func SetDecoder(any) ClientOptionFunc { return noOption }

// SetGzip changes nothing.
func SetGzip(bool) ClientOptionFunc { return noOption }

// SetHttpClient changes nothing.
func SetHttpClient(any) ClientOptionFunc { return noOption } //nolint:revive // as the original

// SetErrorLog changes nothing.
func SetErrorLog(Logger) ClientOptionFunc { return noOption }

// SetInfoLog changes nothing.
func SetInfoLog(Logger) ClientOptionFunc { return noOption }

// SetTraceLog changes nothing.
func SetTraceLog(Logger) ClientOptionFunc { return noOption }

// NewExponentialBackoff waits for nothing.
func NewExponentialBackoff(_, _ time.Duration) any { return nil }

// NewBackoffRetrier tries nothing again.
func NewBackoffRetrier(any) any { return nil }

// Start starts nothing.
func (*Client) Start() {}

// Stop stops nothing.
func (*Client) Stop() {}

// PerformRequest fails.
func (*Client) PerformRequest(context.Context, PerformRequestOptions) (*Response, error) {
	return nil, errLeftOut
}

// Get returns a request that fails, and so do the others.
func (*Client) Get() *Service[*GetResult] { return nil }

// Search returns a request that fails.
func (*Client) Search(...string) *Service[*SearchResult] { return nil }

// Count returns a request that fails.
func (*Client) Count(...string) *Service[int64] { return nil }

// PutMapping returns a request that fails.
func (*Client) PutMapping() *Service[*Acknowledged] { return nil }

// ClusterHealth returns a request that fails.
func (*Client) ClusterHealth() *Service[*Health] { return nil }

// CreateIndex returns a request that fails.
func (*Client) CreateIndex(string) *Service[*Acknowledged] { return nil }

// CatIndices returns a request that fails.
func (*Client) CatIndices() *Service[CatIndicesResponse] { return nil }

// IndexPutTemplate returns a request that fails.
func (*Client) IndexPutTemplate(string) *Service[*Acknowledged] { return nil }

// IndexExists returns a request that fails.
func (*Client) IndexExists(...string) *Service[bool] { return nil }

// DeleteIndex returns a request that fails.
func (*Client) DeleteIndex(...string) *Service[*Acknowledged] { return nil }

// IndexPutSettings returns a request that fails.
func (*Client) IndexPutSettings(...string) *Service[*Acknowledged] { return nil }

// IndexGetSettings returns a request that fails.
func (*Client) IndexGetSettings(...string) *Service[map[string]*IndicesGetSettingsResponse] {
	return nil
}

// Delete returns a request that fails.
func (*Client) Delete() *Service[*Acknowledged] { return nil }

// Ping returns a request that fails.
func (*Client) Ping(string) PingService { return PingService{} }

// Do fails.
func (PingService) Do(context.Context) (any, int, error) { return nil, 0, errLeftOut }

// Do fails.
func (*Service[R]) Do(context.Context) (R, error) {
	var none R
	return none, errLeftOut
}

// Index leaves the request as it is.
func (s *Service[R]) Index(...string) *Service[R] { return s }

// Id leaves the request as it is.
func (s *Service[R]) Id(string) *Service[R] { return s } //nolint:revive // as the original

// Query leaves the request as it is.
func (s *Service[R]) Query(Query) *Service[R] { return s }

// AllowPartialSearchResults leaves the request as it is.
func (s *Service[R]) AllowPartialSearchResults(bool) *Service[R] { return s }

// SearchSource leaves the request as it is.
func (s *Service[R]) SearchSource(*SearchSource) *Service[R] { return s }

// BodyJson leaves the request as it is.
func (s *Service[R]) BodyJson(any) *Service[R] { return s } //nolint:revive // as the original

// BodyString leaves the request as it is.
func (s *Service[R]) BodyString(string) *Service[R] { return s }

// WaitForYellowStatus leaves the request as it is.
func (s *Service[R]) WaitForYellowStatus() *Service[R] { return s }

// Version leaves the request as it is.
func (s *Service[R]) Version(any) *Service[R] { return s }

// VersionType leaves the request as it is.
func (s *Service[R]) VersionType(string) *Service[R] { return s }
