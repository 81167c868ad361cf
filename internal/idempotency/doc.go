// SPDX-License-Identifier: Apache-2.0

// Package idempotency holds the Idempotency-Key of a request, and carries it in the request's
// context to the transaction that creates what the request asks for.
//
// The API begins a Request with the key and a fingerprint of what is asked for. The transaction
// that creates the object stores the answer with it (storage/accounts): both are there, or neither.
// A request with the same key gets that answer; one with the same key and another body is refused,
// and one that comes while the first still runs gets a conflict. The package imports no room.
package idempotency
