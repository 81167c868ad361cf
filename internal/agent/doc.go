// SPDX-License-Identifier: Apache-2.0

// Package agent is the program of an agent: it probes the checks of a location, and sends the results to
// the platform on connections that it opens itself.
//
// agent.go runs the parts and ends them. session.go opens the session and stream.go reads the
// stream, by the protocol of package agentlink. checks.go keeps the definitions, in memory only, and
// schedule.go begins the probe of each slot on its instant, by the clock of clock.go. probe.go runs
// a probe with its repetitions, as a turn of a worker does, and task.go one that somebody waits for.
//
// A result is in outbox.go until the platform has acknowledged it. What cannot be sent is written to
// spool.go, files whose records segment.go reads and writes; report.go sends what is new, and
// drain.go beside it what the spool has. A result that was acknowledged is kept in the spool for an hour:
// when the platform is restored from a backup, it is sent again.
//
// A token that the platform does not accept ends all probing at once. Any other failure cuts the
// agent off, and it goes on with what it knows for a day. No config is ever written.
package agent
