// SPDX-License-Identifier: Apache-2.0

package elastic

import (
	"context"
	"time"
)

type (
	// BulkableRequest is a request beside others.
	BulkableRequest interface {
		Source() ([]string, error)
		String() string
	}
	// BulkRequest changes a document.
	BulkRequest struct{}
	// BulkBeforeFunc is called before requests are sent.
	BulkBeforeFunc func(id int64, requests []BulkableRequest)
	// BulkAfterFunc is called with the answer.
	BulkAfterFunc func(id int64, requests []BulkableRequest, response *BulkResponse, err error)
	// BulkProcessor sends nothing.
	BulkProcessor struct{}
	// BulkProcessorService makes none.
	BulkProcessorService struct{}
	// BulkService sends nothing.
	BulkService struct{}
)

// NewBulkIndexRequest returns a request without a body.
func NewBulkIndexRequest() *BulkRequest { return &BulkRequest{} }

// NewBulkDeleteRequest returns a request without a body.
func NewBulkDeleteRequest() *BulkRequest { return &BulkRequest{} }

// Source fails.
func (*BulkRequest) Source() ([]string, error) { return nil, errLeftOut }

// String is empty.
func (*BulkRequest) String() string { return "" }

// Index leaves the request as it is.
func (r *BulkRequest) Index(string) *BulkRequest { return r }

// Id leaves the request as it is.
func (r *BulkRequest) Id(string) *BulkRequest { return r } //nolint:revive // as the original

// VersionType leaves the request as it is.
func (r *BulkRequest) VersionType(string) *BulkRequest { return r }

// Version leaves the request as it is.
func (r *BulkRequest) Version(int64) *BulkRequest { return r }

// Doc leaves the request as it is.
func (r *BulkRequest) Doc(any) *BulkRequest { return r }

// Bulk returns a request that fails.
func (*Client) Bulk() *BulkService { return &BulkService{} }

// Add adds nothing.
func (s *BulkService) Add(...BulkableRequest) *BulkService { return s }

// NumberOfActions is 0.
func (*BulkService) NumberOfActions() int { return 0 }

// Do fails.
func (*BulkService) Do(context.Context) (*BulkResponse, error) { return nil, errLeftOut }

// BulkProcessor returns a request that fails.
func (*Client) BulkProcessor() *BulkProcessorService { return &BulkProcessorService{} }

// Name leaves the request as it is.
func (s *BulkProcessorService) Name(string) *BulkProcessorService { return s }

// Workers leaves the request as it is.
func (s *BulkProcessorService) Workers(int) *BulkProcessorService { return s }

// BulkActions leaves the request as it is.
func (s *BulkProcessorService) BulkActions(int) *BulkProcessorService { return s }

// BulkSize leaves the request as it is.
func (s *BulkProcessorService) BulkSize(int) *BulkProcessorService { return s }

// FlushInterval leaves the request as it is.
func (s *BulkProcessorService) FlushInterval(time.Duration) *BulkProcessorService { return s }

// Before leaves the request as it is.
func (s *BulkProcessorService) Before(BulkBeforeFunc) *BulkProcessorService { return s }

// After leaves the request as it is.
func (s *BulkProcessorService) After(BulkAfterFunc) *BulkProcessorService { return s }

// RetryItemStatusCodes leaves the request as it is.
func (s *BulkProcessorService) RetryItemStatusCodes(...int) *BulkProcessorService { return s }

// Do fails.
func (*BulkProcessorService) Do(context.Context) (*BulkProcessor, error) { return nil, errLeftOut }

// Add adds nothing.
func (*BulkProcessor) Add(BulkableRequest) {}

// Flush sends nothing.
func (*BulkProcessor) Flush() error { return nil }

// Stop stops nothing.
func (*BulkProcessor) Stop() error { return nil }
