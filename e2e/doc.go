// Package e2e proves the promises from outside: the built program as a process
// of its own, real Postgres, real Temporal, real targets, and every fact counted
// through the API, in Postgres or at the target, never by the code under test.
package e2e
