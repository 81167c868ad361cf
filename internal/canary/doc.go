// SPDX-License-Identifier: Apache-2.0

// Package canary distinguishes a failure of a target from one of this machine's own line. Canaries are
// well-known servers of the internet: when none of them answers, the failure of a public target
// says nothing about the target, and its slot is missed.
//
// line.go has what is known of the line, and ask.go how the canaries are asked. target.go says
// which targets are public: others are never judged.
package canary
