// SPDX-License-Identifier: Apache-2.0

// Package pace measures how many turns a worker process makes and how well it keeps up, so that
// turns become fewer where Temporal or the machine has too much to do.
//
// A Budget counts the loops of the process: how many slots a second they have, how many turns may
// be made for these, and how many of the loops wait for their next turn. Lateness measures how late
// slots are probed. Neither decides anything: vigil.NextTurnStep and vigil.NextTurnSlots do, by
// what is measured here.
//
// A Budget is a token bucket: each turn takes a token. While the loops have fewer slots than that,
// each slot has a turn of its own; beyond, a turn covers several (Most). It also sees when turns
// end faster than Temporal begins others (Crowded): a calm loop then goes on with its turn.
// Lateness is what a worker reports with its lease (fleet.Load): the sweep starts few new loops in
// a region that is late.
package pace
