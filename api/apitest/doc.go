// SPDX-License-Identifier: Apache-2.0

// Package apitest holds the API to its OpenAPI document, in tests of the API and of the running
// program, and gives an API that a test starts its stores.
//
// A Contract is the document, read with a JSON Schema validator (contract.go). A Transport is the
// http.RoundTripper of every client of the tests: it passes a request on and compares the answer
// with what the document says of that operation: status, content type, headers and body
// (transport.go). What no operation describes, such as a page, must not look like one. So each test
// that calls the API tests the document too, and an operation whose answer leaves it fails
// everywhere at once. Stores hands the rooms of a real storage.Store to an api.Server.
package apitest
