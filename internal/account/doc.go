// SPDX-License-Identifier: Apache-2.0

// Package account has who uses the platform and what they may do: users and their sessions,
// organizations, API keys with scopes, members with roles, plans with limits, and the mail that one
// recipient may be sent.
//
// A Role grants Scopes, and a key or session has the scopes that both it and the role of its user
// allow (Role.Within). A Tier names a Plan; what a plan counts is in CountLimits, what it sums
// (executions and bytes an hour) is in Plan, and storage judges both in the transaction that
// writes. MailQuota bounds what strangers can make the platform send.
//
// Everything here is a type or a pure decision; storage/accounts keeps the rows, and api/accounts
// the requests.
package account
