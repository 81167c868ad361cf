// Package reconcile makes Temporal agree with Postgres: its sweep finds the rows
// that a workflow has not seen, or no longer works on, and repairs each of them. It
// runs in one elected process and reaches workflows through interfaces of its own.
package reconcile
