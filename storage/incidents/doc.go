// SPDX-License-Identifier: Apache-2.0

// Package incidents keeps incidents, the votes that open and end them, their events, and the
// deliveries that carry these to channels. It owns incidents, region_votes, events,
// deliveries, attempts and the rows of unobserved checks.
//
// A change of an incident is one transaction: the row of the check is locked
// (lockForIncident), the incident changes, its event is published with one delivery for each
// recipient (event.go), and the positions of the streams follow. Publishing is last, because
// the head of a stream is a lock that all transactions of an organization want. Who gets the
// end of an incident is frozen when it opens: an end goes to all who got the beginning.
//
// A delivery waits for its place in the order of its incident and channel (delivery_gate.go,
// delivery_place.go); the outbox finds the pending ones, and the sweep starts those that no
// workflow carries.
//
// A system event is about no incident (PublishSystem). Its subject stands in the place of the
// incident in the event and in its deliveries, so that these go the same way.
package incidents
