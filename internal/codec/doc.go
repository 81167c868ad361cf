// SPDX-License-Identifier: Apache-2.0

// Package codec encrypts the payloads that Temporal stores: the inputs and results of workflows and
// activities, signals, updates, query results, failures, memos and summaries. Search attributes are
// not payloads and stay as they are: the server indexes them, and Vigil puts ids and key words
// there only.
//
// Decoding is always on and encoding is a choice, so that a platform can switch between both while
// its workflows run.
//
// A Codec (codec.go) encrypts with the current key of package secret, notes the key in the
// payload's metadata, and leaves what is not encrypted as it is. Configure puts it below the data
// converter of a client and its workers, failures included. Inside a workflow, a payload whose key
// is missing is a panic (converter.go): it fails the workflow task, which is tried again until a
// worker with the key takes it, where an error would end the workflow. Handler serves the codec to
// the web interface of Temporal; the API asks who calls.
package codec
