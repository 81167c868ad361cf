// SPDX-License-Identifier: Apache-2.0

// Package mailtest runs real SMTP servers on loopback for tests.
//
// A server takes mails as a client of package mail or a probe sends them, keeps them for the test
// to read, and refuses what the test says, at the step of the dialogue that it names.
// It can speak TLS in each of the modes, ask for a sign-in, and stop answering in the middle of a
// mail. It ends with the test.
package mailtest
