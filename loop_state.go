package vigil

import "time"

// LoopState is what a running loop says of itself when asked.
type LoopState struct {
	State
	// Revision of the definition that the loop last worked with.
	Revision int64 `json:"revision"`
	// Next is the slot that the loop waits for.
	Next time.Time `json:"next,omitzero"`
	// Turns since the workflow's run began.
	Turns int `json:"turns"`
	// RunID of the workflow that answered.
	RunID string `json:"run_id"`
}
