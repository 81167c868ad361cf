// SPDX-License-Identifier: Apache-2.0

// Package channelhealth says how the messages of a channel arrive, and what follows where they
// do not.
//
// Each attempt of a delivery shows something of its channel (SeenOf): that it delivers, that it
// fails, or nothing, as an attempt by hand does. Health.After folds that into the health of the
// channel, as vigil.Evaluate folds results into the state of a loop: ok, failing after five
// failures in a row or ten minutes of them, down when a message is given up or the receiver wants
// no more. It also says which change makes an event (Turn); the id of an episode follows from the
// channel and the time, so that a retry makes no second event.
//
// A channel may have a fallback, which gets the messages that it cannot deliver. Who got the
// beginning of an incident that way gets the end too (FallbackRecipients). A fallback that leads
// back to its channel is refused (FallbackCircle).
//
// A Notice is the mail to the owners of a channel that lost messages. A Recovery sends those
// again once the channel is mended: each message once more, in order, in steps that a workflow
// asks for until one says that it is done.
//
// Storage keeps the rows (storage/incidents); nothing here reads a clock or a row.
package channelhealth
