// SPDX-License-Identifier: Apache-2.0

// Package rest is what every resource of the HTTP interface needs: it registers operations with
// Huma, checks the form of requests, limits rates, notes changes in the audit log, and writes the
// three bodies that every answer has: {data}, {data, meta} and {error, code}. It knows no resource
// and no store.
//
// A request passes, in this order: Observe, which gives it an id, a caller to be filled in and a
// deadline (request.go); TimeBodies, GuardPrivate and Measure; then the operation that Register
// made (operation.go), with the middleware that knows the caller and admits it by the rate of its
// organization (ratelimit.go), and the scope that it must have (scope.go). The body is read
// strictly, so that unknown and repeated members are errors that name them (body*.go,
// strict_json.go, read.go). An Idempotency-Key (repeat.go) and the revision to change (revision.go)
// go to the handler in the context. What the handler returns is written as an Answer or a Listing
// (envelope.go, cursor.go), an error as ErrorOf says: a *vigil.Error with its status, anything else
// as a 500 without details, which is logged.
//
// What all of that allows is in the OpenAPI document (document.go), because the same structs and
// tags make both.
package rest
