// SPDX-License-Identifier: Apache-2.0

// Package accounts is the part of the API about accounts: signing up and in, verification,
// recovery, sessions, API keys, members and invitations, the organization and its audit log,
// and the pages to which links of mails lead.
//
// An Authenticator knows whose a credential is; it keeps answers for some seconds, and forgets
// those of what ends here, so that a credential that was revoked in this process is refused at once.
// Passwords are hashed a few at a time. Whether an address has an account shows nowhere: a
// request answers the same, after the same time, and the mail says the rest. A token of a mail
// is stored by its hash, works once, and is used by a button, since mail scanners open links.
package accounts
