// SPDX-License-Identifier: Apache-2.0

package fleet

// Epoch is a number that is written to Postgres and to Temporal every few seconds, so that a
// store that was restored from a backup shows by an older one. Nothing else says so.
type Epoch struct {
	// Generation of Temporal's store, 0 before the first one is known.
	Generation int64
	// Number is the newest epoch of Postgres, at least 1. It is written here first.
	Number int64
	// Floor is the oldest epoch that Temporal may have: Number when it is known to have that
	// one, and 0 when any older one is expected, as after a restore.
	Floor int64
	// Due: it is time for the next one.
	Due bool
}

// Compare returns the sign of a restored store, empty when there is none. known is the epoch
// that Temporal has.
func (e Epoch) Compare(known int64) RestoreSign {
	switch {
	case known > e.Number:
		return DatabaseOlder
	case known < e.Floor:
		return TemporalOlder
	}
	return ""
}

// Sentinel is what Temporal knows of the sentinel of a generation of its store.
type Sentinel struct {
	Found bool   // Temporal knows it
	Open  bool   // it is not closed
	Full  bool   // its history is long enough, and another run must take its place
	RunID string // of an open one that is full
	Epoch int64  // the newest one that was written to it, 0 before the first
}
