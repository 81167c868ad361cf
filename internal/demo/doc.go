// SPDX-License-Identifier: Apache-2.0

// Package demo is what `vigil up --demo` adds to a platform on this machine: a shop that is checked
// and fails on command, a receiver of its messages, and a story that breaks the shop, waits for the
// incident and its messages, and repairs it. It is a client of the API: every line that it shows
// comes from the alert stream, an answer of the API, or a request that the receiver got, so it
// cannot succeed when the platform fails.
//
// What it must know after a crash is in a file (see state): the story goes on where it was.
//
// shop.go and receiver.go are the two servers; definition.go creates, through the API, the check,
// the channel and the rule between them. story.go is the order of the scenes, each of which waits
// for what it expects: events of the stream (stream.go, event.go) and attempts at the receiver
// (attempts.go). At the end it counts: how many messages were sent, and how many got lost. api.go
// has the requests, and pause.go the stops for a reader.
package demo
