// SPDX-License-Identifier: Apache-2.0

// Package pace measures how many turns a worker process makes and how well it keeps up, so
// that turns become fewer where Temporal or the machine has too much to do.
//
// A Budget counts the loops of the process: how many slots a second they have, how many turns
// may be made for these, and how many of the loops wait for their next turn. Lateness measures
// how late slots are probed, and a Burst finds that many things happen at once. None of them
// decides anything: vigil.NextTurnStep and vigil.NextTurnSlots do, by what is measured here.
package pace
