// SPDX-License-Identifier: Apache-2.0

package fleet

// RestoreSign says which of the two stores was restored from a backup.
type RestoreSign string

// The signs of a restored store. The first two are found by comparing epochs.
const (
	// DatabaseOlder: Temporal has a newer epoch than Postgres.
	DatabaseOlder RestoreSign = "database older"
	// TemporalOlder: Postgres has a newer epoch than Temporal.
	TemporalOlder RestoreSign = "temporal older"
	// RestoredByHand: an operator says so.
	RestoredByHand RestoreSign = "by hand"
)
