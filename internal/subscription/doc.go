// SPDX-License-Identifier: Apache-2.0

// Package subscription says which channels receive an event without being named by a rule.
//
// A Subscription names types of events, or patterns such as incident.* and *, and a Selector that
// narrows them by the labels and ids of checks and by severity. Validate judges both, and Unmatched
// says which of the types can never match the selector.
//
// Storage finds the subscriptions of an event in one query, by arrays that these functions make of
// the event: PatternsOf its type, SelectingTerms of the labels of its check and UpTo of its
// severity. What it finds are Subscribers, and Join adds their channels to the recipients that
// the rules name, each channel once: with the beginning, the end or both, as the patterns say.
// RecipientsOf does the same for an event that has no rules.
//
// CheckRecipientsOf answers a person who asks whom a check would notify, and why.
package subscription
