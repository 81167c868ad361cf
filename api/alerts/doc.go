// SPDX-License-Identifier: Apache-2.0

// Package alerts is the part of the API about alerting: rules, channels and their recipients,
// incidents with their timelines and updates, and deliveries with their attempts.
//
// Channels holds the rules by which a channel is created and changed; an apply keeps them too.
// Acknowledging, resolving and redelivering are asked of the workflow, which answers with the
// incident as it is then. Secrets of a config are shown as ***, and stay when that comes back.
package alerts
