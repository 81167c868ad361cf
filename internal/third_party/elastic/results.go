// SPDX-License-Identifier: Apache-2.0

package elastic

import "encoding/json"

type (
	// Error is what Elasticsearch answers.
	Error struct {
		Status  int
		Details *ErrorDetails
	}
	// ErrorDetails says what is wrong.
	ErrorDetails struct{ Type, Reason string }
	// GetResult is a document.
	GetResult struct {
		Id     string //nolint:revive // as the original
		Found  bool
		Source json.RawMessage
	}
	// SearchResult is a page of documents.
	SearchResult struct {
		Hits         *SearchHits
		Aggregations map[string]json.RawMessage
	}
	// SearchHits are documents.
	SearchHits struct{ Hits []*SearchHit }
	// SearchHit is one.
	SearchHit struct {
		Id     string //nolint:revive // as the original
		Source json.RawMessage
		Sort   []any
	}
	// BulkResponse is what became of many requests.
	BulkResponse struct {
		Took  int
		Items []map[string]*BulkResponseItem
	}
	// BulkResponseItem is what became of one.
	BulkResponseItem struct {
		Id     string //nolint:revive // as the original
		Status int
		Error  *ErrorDetails
	}
	// Acknowledged is the answer to a change.
	Acknowledged struct{ Acknowledged bool }
	// Health is the state of a cluster.
	Health struct{ Status string }
	// Response is an answer without a type.
	Response struct{ Body json.RawMessage }
	// CatIndicesResponse lists indices.
	CatIndicesResponse []struct{ Index string }
	// IndicesGetSettingsResponse has the settings of an index.
	IndicesGetSettingsResponse struct{ Settings map[string]any }
)

// Error is the text of it.
func (e *Error) Error() string { return errLeftOut.Error() }

// IsNotFound is false: nothing was asked.
func IsNotFound(any) bool { return false }
