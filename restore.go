package vigil

// RestoreSign is a sign that one of the two stores was restored from a backup. It is
// found by comparing a loop, whose state Temporal keeps, with its rows.
type RestoreSign string

// The signs of a restored store.
const (
	// DatabaseOlder: a loop knows results or revisions that Postgres does not have.
	DatabaseOlder RestoreSign = "database older"
	// TemporalOlder: Postgres has votes of a loop that the loop does not know.
	TemporalOlder RestoreSign = "temporal older"
	// RestoredByHand: an operator says so.
	RestoredByHand RestoreSign = "by hand"
)
