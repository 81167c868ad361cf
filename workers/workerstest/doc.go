// SPDX-License-Identifier: Apache-2.0

// Package workerstest starts the real control plane for tests: Postgres, Temporal, the control
// worker and a receiver of notifications.
//
// Start makes a check in the given regions, whose rule notifies the receiver when a region reports
// it down, and the methods of a ControlPlane then do what a region worker would: report a vote of a
// slot, wait for an incident, and say which events the receiver accepted, or with which status it
// is to answer. StartWith changes the options of the control worker first, and StartDispatching
// those of the clients of workflows. Each test has a database of its own (storagetest), and what
// was started ends with it. Nothing is a stand-in, so what holds here holds for the platform.
package workerstest
