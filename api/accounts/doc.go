// SPDX-License-Identifier: Apache-2.0

// Package accounts is the part of the API about accounts: signing up and in, verification,
// recovery, sessions, API keys, members and invitations, the organization and its audit log, and
// the pages to which links of mails lead.
//
// An Authenticator finds the user of a credential; it keeps answers for some seconds, and forgets
// those of what ends here, so that a credential that was revoked in this process is refused at
// once. Passwords are hashed a few at a time. Whether an address has an account shows nowhere: a
// request answers the same, after the same time, and the mail says the rest. A token of a mail is
// stored by its hash, works once, and is used by a button, since mail scanners open links.
//
// auth.go authenticates requests, login.go and sessions.go sign in, signup_request.go and
// verification.go make accounts, password.go and email_change.go change them, and pages.go with
// account_pages.go are the pages behind links. mail.go writes the mails, within the quotas of their
// recipients.
package accounts
