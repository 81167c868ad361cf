// SPDX-License-Identifier: Apache-2.0

// Package accounts keeps who may do what: organizations with their plans, users, API keys,
// sessions, sign-ups, invitations, links to log in and to recover, and the recipients who
// agreed to get mail. It owns their tables, the counts of the rate limits, the quotas of mails
// and the answers kept for idempotency keys.
//
// Every transaction that uses the budget of an organization, or adds to what its plan limits,
// begins with LockOrganization: it is the first lock, which prevents deadlocks, and it
// refuses an organization that was deleted. CheckRoom then counts what there is.
//
// A change by a person passes RequireAdmin or the check of its credential under the lock of
// the user, because the processes of the API know a credential for some seconds longer than
// it is valid. What gives access ends in one place, endCredentials: a new kind of credential
// must end there.
package accounts
