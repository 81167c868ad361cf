package dispatch

import (
	"context"

	"go.temporal.io/sdk/client"

	"vigil"
	"vigil/activities"
	"vigil/workflows"
)

// Turns completes turns that run apart from their activity, or whose worker is gone.
type Turns struct {
	temporal  client.Client
	namespace string
}

// NewTurns returns Turns of the loops in a namespace.
func NewTurns(temporal client.Client, namespace string) *Turns {
	return &Turns{temporal: temporal, namespace: namespace}
}

// CompleteTurn gives the workflow of a loop the result of its turn, or the error with which
// the turn failed. It fails with CodeNotFound when the workflow does not wait for this turn.
func (t *Turns) CompleteTurn(ctx context.Context, turn vigil.OpenTurn, result *activities.TurnResult, failure error) error {
	var value any // nil without a result: a nil pointer would be a payload
	if result != nil {
		value = result
	}
	err := t.temporal.CompleteActivityByID(
		ctx, t.namespace, vigil.LoopID(turn.CheckID, turn.Region), turn.RunID.String(), turn.ActivityID, value, failure,
	)
	if isNotFound(err) {
		return vigil.NotFound("turn")
	}
	return wrap("complete a turn of the", err)
}

// RepeatTurn makes a loop begin another turn. It is no error when no workflow runs.
func (t *Turns) RepeatTurn(ctx context.Context, turn vigil.OpenTurn) error {
	err := t.temporal.SignalWorkflow(ctx, vigil.LoopID(turn.CheckID, turn.Region), "", workflows.SignalNudge, nil)
	if isNotFound(err) {
		return nil
	}
	return wrap("nudge", err)
}
