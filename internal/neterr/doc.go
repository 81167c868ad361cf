// SPDX-License-Identifier: Apache-2.0

// Package neterr explains errors of the network: a code for programs and a sentence for people.
// What a library says is not repeated, since it quotes addresses and answers.
//
// An error is unwrapped until something in it is known: a refusal of package egress, an answer of a
// name server, an errno, a certificate that is not trusted, the end of a context. Probes, channels
// and mail use the same words, so that one cause has one sentence everywhere.
package neterr
