// SPDX-License-Identifier: Apache-2.0

// Package workers is the worker processes: it binds workflows and activities to task queues, one
// worker for each region that a process serves, and the control worker for incidents and
// deliveries.
//
// Regions (region.go, region_workers.go) is the process of region workers. It renews one lease for
// all of its regions each second; turns are taken only while that lease holds (slots.go, and
// lease_health.go, which also compares the clock with the database's). Regions without loops are
// not polled: the rows, and Demand for what this process itself makes, say which are in use. Each
// renewal returns the workers whose leases were revoked, and adopt.go takes over their open turns,
// those of its own build and of the current one.
//
// Control (control.go) serves the queues of incidents, deliveries, recoveries and drills, with
// limits that keep a storm of incidents from holding up messages. Both poll as a build of one
// Worker Deployment (deployment.go). KeepStarting starts either in the background until Temporal
// and Postgres answer, so that a process can start before them.
package workers
