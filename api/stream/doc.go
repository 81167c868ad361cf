// SPDX-License-Identifier: Apache-2.0

// Package stream keeps the alert streams of a process: server-sent events that
// follow the stored events of an organization. A hub wakes its subscribers when
// there may be something new; each of them reads by a cursor of its own, so that
// a slow client holds up no other stream.
package stream
