// SPDX-License-Identifier: Apache-2.0

// Package platform runs Vigil: it builds the parts from the settings of an operator, starts
// them in their order, and stops them within the time that a service manager leaves.
//
// A Process is the life of what runs: each part that starts registers how to stop it and when
// it must have ended, and reports its failure, which ends the others. A Platform is the parts
// that the roles share: the store, the client of Temporal, the registries of check and channel
// types, the mailer. StartAll (start.go) runs all of it in one process, with a private Postgres
// and an embedded Temporal where none is named; RunRole (role.go) runs one role against those
// that run elsewhere: the API (api.go), the control worker (control.go), or the workers of
// regions (worker.go).
//
// Settings are all that an operator may set (settings.go): the tags of a field are its variable,
// its range and its help. What reads flags and the environment is the command line, which hands
// a Program and the values over. While a process runs it bounds its memory by that of the
// machine (memory.go, collector.go), watches the files of definitions that it applies
// (definitions.go), and reports what it does (metrics.go, telemetry.go, notices.go).
package platform
