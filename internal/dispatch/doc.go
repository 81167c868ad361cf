// SPDX-License-Identifier: Apache-2.0

// Package dispatch is the client side of Temporal: it starts, signals, queries and
// terminates the workflows of loops, incidents and deliveries, and prepares the
// namespace that they run in. It registers nothing and runs no worker.
package dispatch
