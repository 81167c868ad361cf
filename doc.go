// SPDX-License-Identifier: Apache-2.0

// Package vigil is the vocabulary of the platform and its pure decisions: what
// a check, a slot, a result, a region, an incident and a delivery are, which instant
// a check is due at, and what a result does to a check's state.
//
// Nothing here reads a clock, a disk, a socket or randomness, so everything here can be
// called from a workflow and tested with a table. It imports the standard
// library and google/uuid only; every other package may import it.
//
// Subjects of their own stand beside it, in internal/: account, maintenance, secret, project,
// backtest, fleet, overview, listing, channelhealth, events, drills and subscription.
package vigil
