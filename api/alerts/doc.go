// SPDX-License-Identifier: Apache-2.0

// Package alerts is the part of the API about alerting: rules, channels and their recipients,
// subscriptions, incidents with their timelines and updates, drills, and deliveries with their
// attempts and recoveries.
//
// A Service puts the resources together; each is one file with the interface of the store that it
// needs, its operations, its bodies and its views. What a reader follows from a request on:
//
//   - Rules, channels and subscriptions are definitions. A handler reads the body into a change
//     (rule_change.go, channel_change.go, subscription_body.go), the engine of storage judges and
//     writes it, and the notifier wakes the workflows that have an open incident of it.
//     Channels holds the rules by which a channel is created and changed; an apply keeps them too.
//   - Secrets of a config are shown as ***, and stay when that comes back (channels.go). One is
//     replaced for a time in which both sign (channel_rotation.go).
//   - An incident is read from its rows. To acknowledge or resolve one, or to send a delivery
//     again, is asked of the workflow (incident_actions.go), which answers with the incident as
//     it is then; an update by a user is a row and an event, and the workflow is woken for its
//     deliveries (incident_updates.go).
//   - A drill is asked for here and made by its own workflow; the receipt is read from its rows.
//   - A test message, and the confirmation of a recipient, are sent by the API itself
//     (channel_message.go, channel_recipients.go): no workflow waits for them.
//   - channel_types.go and template_variables.go say what forms need, from the registry of types.
package alerts
