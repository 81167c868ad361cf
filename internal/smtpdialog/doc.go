// SPDX-License-Identifier: Apache-2.0

// Package smtpdialog has the commands of SMTP by the letter of their standards, where the library
// that mail and probe share leaves room: paths in angle brackets, no parameter that the mail does
// not need, a sign-in that ends where the server ended it.
//
// From and To send MAIL and RCPT (RFC 5321 section 4.1.1) with the address alone: what the platform
// sends is ASCII in short lines, so it needs no extension, which a server further on may lack.
// SignIn runs AUTH (RFC 4954), sends nothing more of an exchange that the server refused, and
// cancels one that the client cannot go on with. Folded (folded.go) is a reader that writes
// keywords of the reply to EHLO in capital letters (FoldKeywords) before the library compares them,
// since a server may write them in any.
package smtpdialog
