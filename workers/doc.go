// SPDX-License-Identifier: Apache-2.0

// Package workers is the worker processes: it binds workflows and activities to
// task queues, one worker for each region that a process serves, and the control
// worker for incidents and deliveries.
package workers
