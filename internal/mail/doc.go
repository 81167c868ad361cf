// SPDX-License-Identifier: Apache-2.0

// Package mail sends mail to people: notifications of incidents and mails about
// accounts. With no mail server it writes what it would send into a directory,
// so that a platform on a laptop can still be used in full.
//
// One Mailer is shared by all who send. Each mail is one connection that ends
// with the caller's context; nothing is queued or tried again here.
package mail
