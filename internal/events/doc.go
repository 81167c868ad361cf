// SPDX-License-Identifier: Apache-2.0

// Package events makes events: from what happened the envelope that webhooks and the stream
// carry, the words for people, and the values of template variables.
//
// There are three kinds, each with its content and its constructor. Content is a change of an
// incident (New), UnobservedContent a check that is not probed although it should be
// (NewUnobserved), and SystemContent what happens to channels, deliveries, regions, drills and
// checks themselves (NewSystem). ChannelFailing, ChannelRecovered, DeliveryExhausted and
// CheckToggled return the contents of system events; those of drills and of regions are made where
// these are.
//
// Of all kinds the envelope has the same frame (envelope.go), and its variables
// the same names (template.go), so that a template that was written for incidents reads well for
// the others. The id of an event follows from what it is about and from its type (ID,
// TriggeredID), so that a transaction that is repeated makes no second one.
//
// An envelope has at most MaxEnvelope bytes: texts are cut, and what users and targets wrote at
// length is left out, in this order: evidence, metadata, labels. A message in the place of another
// channel's says so in its envelope and in a line below its text (FallbackEnvelope,
// FallbackNote).
//
// The types of events, their order and what they open or end stand in the root package, since
// workflows decide by them. Storage gives events their positions and their deliveries.
package events
