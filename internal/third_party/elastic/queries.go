// SPDX-License-Identifier: Apache-2.0

package elastic

type (
	// Query is a condition.
	Query interface{ Source() (any, error) }
	// Aggregation counts documents by a field.
	Aggregation = Query
	// Sorter is an order.
	Sorter = Query

	none struct{}

	// BoolQuery joins conditions.
	BoolQuery struct{ none }
	// RangeQuery compares a field.
	RangeQuery struct{ none }
	// FieldSort sorts by a field.
	FieldSort struct{ none }
	// SortByDoc sorts by the document.
	SortByDoc struct{ none }
	// TermsAggregation groups by a field.
	TermsAggregation struct{ none }
	// SearchSource is the body of a search.
	SearchSource struct{ none }
)

// Source fails.
func (none) Source() (any, error) { return nil, errLeftOut }

// NewBoolQuery returns a condition without a body.
func NewBoolQuery() *BoolQuery { return &BoolQuery{} }

// Filter leaves it as it is.
func (q *BoolQuery) Filter(...Query) *BoolQuery { return q }

// MustNot leaves it as it is.
func (q *BoolQuery) MustNot(...Query) *BoolQuery { return q }

// Should leaves it as it is.
func (q *BoolQuery) Should(...Query) *BoolQuery { return q }

// MinimumNumberShouldMatch leaves it as it is.
func (q *BoolQuery) MinimumNumberShouldMatch(int) *BoolQuery { return q }

// MinimumShouldMatch leaves it as it is.
func (q *BoolQuery) MinimumShouldMatch(string) *BoolQuery { return q }

// NewRangeQuery returns a condition without a body.
func NewRangeQuery(string) *RangeQuery { return &RangeQuery{} }

// Gte leaves it as it is.
func (q *RangeQuery) Gte(any) *RangeQuery { return q }

// Lte leaves it as it is.
func (q *RangeQuery) Lte(any) *RangeQuery { return q }

// Gt leaves it as it is.
func (q *RangeQuery) Gt(any) *RangeQuery { return q }

// Lt leaves it as it is.
func (q *RangeQuery) Lt(any) *RangeQuery { return q }

// NewTermQuery returns a condition without a body.
func NewTermQuery(string, any) Query { return none{} }

// NewTermsQuery returns a condition without a body.
func NewTermsQuery(string, ...any) Query { return none{} }

// NewMatchQuery returns a condition without a body.
func NewMatchQuery(string, any) Query { return none{} }

// NewPrefixQuery returns a condition without a body.
func NewPrefixQuery(string, string) Query { return none{} }

// NewExistsQuery returns a condition without a body.
func NewExistsQuery(string) Query { return none{} }

// NewFieldSort returns an order without a body.
func NewFieldSort(string) *FieldSort { return &FieldSort{} }

// Desc leaves it as it is.
func (s *FieldSort) Desc() *FieldSort { return s }

// Missing leaves it as it is.
func (s *FieldSort) Missing(any) *FieldSort { return s }

// NewTermsAggregation returns an aggregation without a body.
func NewTermsAggregation() *TermsAggregation { return &TermsAggregation{} }

// Field leaves it as it is.
func (a *TermsAggregation) Field(string) *TermsAggregation { return a }

// Missing leaves it as it is.
func (a *TermsAggregation) Missing(any) *TermsAggregation { return a }

// SubAggregation leaves it as it is.
func (a *TermsAggregation) SubAggregation(string, Aggregation) *TermsAggregation { return a }

// NewSearchSource returns a search without a body.
func NewSearchSource() *SearchSource { return &SearchSource{} }

// Query leaves it as it is.
func (s *SearchSource) Query(Query) *SearchSource { return s }

// SortBy leaves it as it is.
func (s *SearchSource) SortBy(...Sorter) *SearchSource { return s }

// TrackTotalHits leaves it as it is.
func (s *SearchSource) TrackTotalHits(any) *SearchSource { return s }

// Size leaves it as it is.
func (s *SearchSource) Size(int) *SearchSource { return s }

// SearchAfter leaves it as it is.
func (s *SearchSource) SearchAfter(...any) *SearchSource { return s }

// Aggregation leaves it as it is.
func (s *SearchSource) Aggregation(string, Aggregation) *SearchSource { return s }
