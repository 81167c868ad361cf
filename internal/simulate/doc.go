// SPDX-License-Identifier: Apache-2.0

// Package simulate says what many checks from many regions need, and what a loss does to them, without running them: it
// simulates one region event by event, with costs that were recorded on a machine.
//
// What it runs are the rules of the platform and not a copy of them: vigil.Schedule has the slots, vigil.NextTurnStep and
// vigil.NextTurnSlots the turns, pace.Budget their number, fair.Queue the places for probes, storage/results how results are
// divided into transactions, fleet the times of leases and of the sweep, and vigil.RegionPolicy when votes open an incident.
// What is a model is the machine: a host has cores, each piece of work takes one for a time (host.go), and that time is what
// Fit finds in recordings of `vigil bench loops --record` (fit.go). costs.json has those of the project's own machine, and a
// test holds what the simulation says of each of them against the recording.
//
// A world (world.go) is a heap of events, one for each loop and a few for each worker. A loop waits for its slot, gets a
// place and is probed (worker.go), its result is stored in a group (writer.go), and its turn takes the next step (turns.go).
// Leases and the sweep (leases.go) move the loops of lost workers. Nothing of a loop crosses regions, so the others are the
// same as the one that is simulated (plan.go). The same seed gives the same simulation.
//
// Not simulated: news of checks and the load of their incidents, new definitions, maintenance, deliveries, the API, what
// Temporal does when one of its own hosts is lost, timeouts of turns, the garbage collector and other programs. Targets
// answer after a fixed time.
package simulate
