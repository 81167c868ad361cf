// Package workers binds workflows and activities to task queues: a worker for
// each region that a process serves, the control worker with the sweep that
// makes Temporal agree with Postgres, and the calls by which the API and the
// sweep reach loops, incidents and deliveries.
package workers
