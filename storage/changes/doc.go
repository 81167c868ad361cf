// SPDX-License-Identifier: Apache-2.0

// Package changes writes definitions: checks, rules, channels, status pages, maintenance windows,
// subscriptions. It owns status_pages, maintenance_windows and subscriptions, and writes the rows
// that the room definitions reads.
//
// Every change is a call of one engine, edits (edits.go). A method that creates, changes or deletes
// one object passes one edit; a bulk change, an apply, an expiry and the deletion of an
// organization pass many. The engine locks in one order, judges the limits of the plan by the sum
// of the edits (edits_judge.go), writes (edits_check.go, edits_alert.go, edits_page.go,
// edits_subscription.go), adds an audit entry for each object and says which loops and incidents to
// wake. So no way of changing a definition passes a limit that another one keeps.
package changes
