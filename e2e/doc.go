// Package e2e tests the built program as a separate process, with real Postgres,
// Temporal and targets. Every fact is read through the API, in Postgres or at the
// target, never from the code under test.
package e2e
