// SPDX-License-Identifier: Apache-2.0

// Package notify sends messages to people and programs: one file per channel type, each of which
// reads a config and sends one message once.
//
// A send answers two questions: did it work, and is it worth trying again. It never tries again by
// itself, takes at most 15 seconds, reads a bounded amount of the answer, follows no redirect, and
// explains every failure in a sentence that a person can act on. No secret of a config appears in
// what it returns, not even when the receiver repeats it.
//
// A new type is one new file and its test: a type that implements Notifier, and a call of register.
//
// The types chat, pager and push have a format for each service (chat_slack.go and so on): it says
// which members of the config it takes, and writes the call. http.go makes the call and outcome.go
// judges the answer. template.go fills in templates of users, markdown.go and mention.go keep
// values in them from becoming links and mentions, cut.go keeps texts within what a service takes,
// and signature.go signs webhooks.
package notify
