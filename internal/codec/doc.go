// SPDX-License-Identifier: Apache-2.0

// Package codec encrypts the payloads that Temporal stores: the inputs and results of
// workflows and activities, signals, updates, query results, failures, memos and
// summaries. Search attributes are not payloads and stay as they are: the server indexes
// them, and Vigil puts ids and key words there only.
//
// Decoding is always on and encoding is a choice, so that a platform can switch between
// both while its workflows run.
package codec
