// SPDX-License-Identifier: Apache-2.0

// Package reconcile makes Temporal agree with Postgres: its sweep finds the rows
// that a workflow has not seen, or no longer works on, and repairs each of them. Every
// control process sweeps the shards that it has a lease of, and reaches workflows
// through interfaces of its own.
package reconcile
