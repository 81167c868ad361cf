// SPDX-License-Identifier: Apache-2.0

// Package listing says what a list of resources is asked for: which ones, in which order, and
// which part of them.
//
// A filter has a member for each question of the API, and zero members select all, so that a
// filter without members is the whole list: CheckFilter, RuleFilter, ChannelFilter,
// DeliveryFilter, IncidentFilter, ResultFilter and AuditFilter. Most of them end with a Page.
// CheckList has the order besides (CheckSort), since checks alone can be sorted by callers, and
// CheckCounts and CheckState say what a list shows of checks over all of their regions.
//
// A Page begins at an offset, or behind the last row of the page before: a PagePosition is the
// value of the column that orders the list and the id, so that rows which are inserted or deleted
// meanwhile neither repeat nor hide others. What storage read comes back with an Extent: how many
// rows there are, counted to MaxTotal, and where the next page begins.
//
// The API reads these from parameters (api/rest), storage/pg makes SQL of them. Filters of what
// has a room of its own stand there, such as drills.Filter.
package listing
