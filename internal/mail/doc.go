// SPDX-License-Identifier: Apache-2.0

// Package mail sends mail to people: notifications of incidents and mails about accounts. With no
// mail server it writes what it would send into a directory, so that a platform on a laptop can
// still be used in full.
//
// One Mailer is shared by all who send. Each mail is one connection that ends with the caller's
// context; nothing is queued or tried again here.
//
// A Message (message.go) is written as MIME; header.go encodes texts of others for headers.
// connect.go opens a session through package egress, encrypted and signed in as the settings ask: a
// password goes in plaintext to this machine only, unless the operator insists. server.go sends
// messages over it, so that a recipient that is refused does not keep a mail from the others. What
// goes wrong is an Error (reason.go): a code, a sentence and the server's own words without the
// password, whether the server refused permanently, and whether it may have taken the mail. A Watch is
// called before a mail is handed over and after, so that it is known also when this process dies
// meanwhile.
package mail
