// SPDX-License-Identifier: Apache-2.0

// Package activities does what workflows may not do themselves: a turn of a check's
// loop waits for its slots and probes, incidents are stored, and notifications are sent.
//
// A turn is one call of Watch: see watch.go, which gathers facts and does what
// vigil.NextTurnStep decides at each slot. The other files of a turn are its parts: turn_wait.go
// what it waits for, turn_probe.go the attempts for a slot and the stored result, turn_state.go
// the state and its comparison with stored results, report_vote.go the vote, turn_lock.go and
// claim.go who has the loop in this process and among processes, turn_apart.go how a turn outlives its
// activity and is adopted, turn_ahead.go what turns do while Temporal is away, turn_lost.go what they
// do while it does not bring the next one, and parked.go a worker without its lease.
//
// An activity takes and returns ids, slots and small state, never a secret or a response
// body, because Temporal keeps its arguments and results in the workflow's history.
package activities
