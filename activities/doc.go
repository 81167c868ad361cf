// SPDX-License-Identifier: Apache-2.0

// Package activities does what workflows may not do themselves: a turn of a check's
// loop waits for its slots and probes, incidents are stored, and notifications are sent.
//
// An activity takes and returns ids, slots and small state, never a secret or a response
// body, because Temporal keeps its arguments and results in the workflow's history.
package activities
