// SPDX-License-Identifier: Apache-2.0

// Package stream keeps the alert streams of a process: server-sent events that follow the stored
// events of an organization. A hub wakes its subscribers when there may be something new; each of
// them reads by a cursor of its own, so that a slow client holds up no other stream.
//
// The Hub (hub.go) bounds how many streams an organization may have, and closes those whose
// credential has ended. It listens to the notifications of Postgres, and asks for the newest
// positions now and then in case one was lost (wake.go); many streams of one organization are woken
// together, so that they share a reading. A stream (stream.go) sends what comes after its
// Last-Event-ID, in order and once. When that is older than what is kept, it says so with an event
// of type stream.gap. frames.go writes events, comments that keep a connection open, and the
// deadline by which a client that does not read is cut off: it resumes where it was.
//
// Nothing is queued in memory: what a client has not read is in the database.
package stream
