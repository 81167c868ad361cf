// SPDX-License-Identifier: Apache-2.0

// Package doctor judges what was seen of a platform: what works, what does not, and what to do
// about it. The judgements are pure: commands look, and hand in what they saw.
//
// Each part has a struct of plain facts with a method Judge, which returns a Finding: a state, a
// sentence and the remedies. machine.go has what only the server's own machine shows (the data
// directory, ports, disk, settings), services.go Postgres and Temporal, platform.go what /ready and
// the API say, and afar.go what a client sees from elsewhere. Package exam looks at the machine and
// fills in these structs; cmd/vigil/cli asks the API for the rest.
//
// Examine runs the probes side by side, each within its time, so that a part that hangs costs a
// finding and not the report. Hide replaces credentials in all texts: a report is made to be sent
// to somebody else.
package doctor
