// SPDX-License-Identifier: Apache-2.0

// Package smtpdialog has the commands of SMTP by the letter of their standards, where the library
// that mail and probe share leaves room: paths in angle brackets, no parameter that the mail does
// not need, a sign-in that ends where the server ended it.
package smtpdialog
