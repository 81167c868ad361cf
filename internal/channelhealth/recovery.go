// SPDX-License-Identifier: Apache-2.0

package channelhealth

import (
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// RecoveryState is the state of a recovery.
type RecoveryState string

// The states of a recovery. It ends in one of the last two.
const (
	RecoveryRunning  RecoveryState = "running"
	RecoveryDone     RecoveryState = "done"
	RecoveryCanceled RecoveryState = "canceled" // on request, or because its channel was disabled
)

// MaxRecovery bounds how many messages one recovery sends again.
const MaxRecovery = 100_000

// Recovery sends again what a channel did not get: each message once more, those of an incident
// in their order, and what has arrived meanwhile not at all.
type Recovery struct {
	ID, OrgID, ChannelID uuid.UUID
	State                RecoveryState
	// Since and Until bound when the deliveries were made; Until is excluded.
	Since, Until time.Time
	// Statuses and EventTypes select the deliveries; without EventTypes all are.
	Statuses   []vigil.DeliveryStatus
	EventTypes []vigil.EventType
	// Total is how many deliveries it has. Sent arrived, Skipped had arrived before or are gone, and
	// of Failed the attempt failed, or that of a message before them of the same incident.
	Total, Sent, Skipped, Failed int
	StartedAt                    time.Time
	FinishedAt                   *time.Time // nil while it runs
}

// RecoveryStep is what one step of a recovery did.
type RecoveryStep struct {
	// Done: the recovery has ended.
	Done bool
	// Requested are the deliveries whose workflows must be signaled.
	Requested []vigil.PendingDelivery
	// Sent, Skipped and Failed are those of the recovery by now, of Total.
	Total, Sent, Skipped, Failed int
}

// RecoveryWorkflowID is the id of the workflow of a recovery.
func RecoveryWorkflowID(recovery uuid.UUID) string { return "recovery/" + recovery.String() }
