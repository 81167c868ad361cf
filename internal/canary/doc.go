// SPDX-License-Identifier: Apache-2.0

// Package canary distinguishes a failure of a target from one of this machine's own line. Canaries
// are well-known servers of the internet: when none of them answers, the failure of a public target
// says nothing about the target, and its slot is missed.
//
// line.go has what is known of the line, and ask.go how the canaries are asked. target.go says
// which targets are public: others are never judged. An attempt is followed (Line.Follow); when it
// fails, the canaries are asked, and attempts that fail at the same time share the question, which
// takes a second at most. Between failures they are asked once a minute while public targets are
// probed, and more often while the line is lost, so that its end is noticed without a probe.
//
// A machine whose canaries have not answered for ten minutes, or never, does not judge its line:
// then they are wrong, or cannot be reached from there.
package canary
