// SPDX-License-Identifier: Apache-2.0

// Package drills proves that alerts arrive. A drill is a check of its own that fails, is healthy
// again and ends; it goes the whole way of an alert, and its receipt lists each hop on it.
//
// A Request says what a drill is about: channels, rules, subscriptions, or a check whose rules are
// copied (Rules). A workflow leads it: Drill.NextStep decides from Facts, which storage reads from
// the rows that every alert leaves, whether it waits, makes the check healthy or closes the drill.
// What was awaited and is late counts as not arrived.
//
// NewReceipt makes the receipt, in the order of the hops: its verdict follows from the facts
// alone, and its failures name the first hop that is missing on the way to each region and
// channel, or the slowest one where a message was late (failures.go). A receipt never changes, and
// is signed where the platform has a key (SigningKey), so that it can be shown to others.
//
// A Schedule runs drills by itself (Recurrence); the id of a drill follows from the schedule and
// the time (ScheduledID), so that each time has one. Defaults say which schedule the operator's
// organization has without asking for it.
//
// Nothing of a drill is in a list or in a figure: its check, incident and results have its id.
// Nothing here reads a clock or a row, so workflows may use it.
package drills
