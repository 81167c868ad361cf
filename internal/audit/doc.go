// SPDX-License-Identifier: Apache-2.0

// Package audit holds the entry of the audit log that a request makes, and carries it in the
// request's context to the transaction that stores it.
//
// The API knows who asks for what, and puts an Entry into the context before the handler runs; the
// handler adds what it changed. Every transaction of storage that changes something stores the
// entry of its context (storage/pg), so that no change is without one and none says what was rolled
// back. The package imports no room, since all of them pass it on.
package audit
