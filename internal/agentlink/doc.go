// SPDX-License-Identifier: Apache-2.0

// Package agentlink is the protocol between the platform and the agents of a location.
//
// An agent opens a session (Hello, Welcome) with the token of its location, and with a public key
// whose private part stays in its memory. On one stream of server-sent events (Definitions, Task)
// it gets the checks of its location, each config sealed to that key. It probes each slot by its
// own clock and sends results in batches (Report, Receipt). A report is sent every ReportEvery at
// least, since it is also how the platform knows that the agent lives, and how agents of one
// location know of each other: Share says which of them probes a check.
//
// Nothing here is trusted by the platform: a result is stored for a slot of a check of the
// location's alone, once, and not for the time to come.
package agentlink
