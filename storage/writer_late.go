package storage

import "vigil"

// tooLate reports whether a row must not be stored: another worker has the loop and has
// stored a newer result. The state of the loop includes that one already and could not
// include this one in the order of slots. The slot stays missed.
//
// Call it before advance, which changes the owner.
func (l *loopProgress) tooLate(p *pendingRow) bool {
	return !p.result.Manual && l.worker != "" && l.worker != p.worker &&
		l.lastSlot != nil && p.result.Slot.Before(*l.lastSlot)
}

// refused reports whether a row was too late: its slot has no result, neither from the
// group nor from before.
func (g *groupTx) refused(key slotKey) bool {
	_, exists := g.existing[key]
	return !g.inserted[key] && !exists
}

func errTooLate() error {
	return vigil.Errorf(vigil.CodeConflict, "The result was not stored: another worker has stored a newer one.")
}
