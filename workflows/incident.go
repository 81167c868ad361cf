// SPDX-License-Identifier: Apache-2.0

package workflows

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
)

// Signals and updates of the incident workflow.
const (
	// SignalVote carries a vigil.Vote.
	SignalVote = "vote"
	// SignalRefresh asks the workflow to read its context from Postgres again.
	SignalRefresh = "refresh"
	// UpdateAcknowledge and UpdateResolve carry a Request and return when the
	// change is stored.
	UpdateAcknowledge = "acknowledge"
	UpdateResolve     = "resolve"
)

// Search attributes that the workflows set.
const (
	AttributeIncident = "VigilIncident"
	AttributeDelivery = "VigilDelivery"
)

// maxChanges limits the votes and activities of one run; then the workflow
// continues as new.
const maxChanges = 500

// IncidentInput is the input of the incident workflow. A new workflow has CheckID
// only; the other members carry state across continue-as-new.
type IncidentInput struct {
	CheckID uuid.UUID `json:"check_id"`
	// Episode is the number of incidents that the chain of runs has opened.
	Episode int `json:"episode,omitempty"`
	// Votes are the newest of each region, in the order of the regions.
	Votes []vigil.Vote `json:"votes,omitempty"`
	// UnhandledVotes are the votes that the previous run received and did not
	// handle, in the order of their signals.
	UnhandledVotes []vigil.Vote `json:"unhandled_votes,omitempty"`
	// Incident is the open incident, Latch that of the latched one.
	Incident *vigil.IncidentHead `json:"incident,omitempty"`
	Latch    *vigil.Latch        `json:"latch,omitempty"`
}

// Request is a user's request to change an incident.
type Request struct {
	IncidentID uuid.UUID `json:"incident_id"`
	// TextID is the vigil.IncidentText of the request, with its author and note: neither
	// may be in a history.
	TextID uuid.UUID `json:"text_id"`
}

// Incident opens and resolves the incidents of one check, by the votes of its
// regions and the region policies of its rules. It runs while a rule fires in a
// region, an incident is open, or an incident is latched. Temporal runs at most one
// workflow with an ID, so incidents of a check never overlap.
func Incident(ctx workflow.Context, in IncidentInput) error {
	i := &incidents{
		in:             in,
		voteSignals:    workflow.GetSignalChannel(ctx, SignalVote),
		refreshSignals: workflow.GetSignalChannel(ctx, SignalRefresh),
		unhandled:      in.UnhandledVotes,
		votes:          make(map[string]vigil.Vote),
		mutex:          workflow.NewMutex(ctx),
		stale:          true,
		context:        vigil.IncidentContext{Incident: in.Incident, Latch: in.Latch},
		activity:       workflow.WithActivityOptions(ctx, retryForever(10*time.Second)),
		inTask: workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
			ScheduleToCloseTimeout: inTaskTimeout, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
		}),
	}
	for _, vote := range in.Votes {
		i.votes[vote.Region] = vote
	}
	if err := i.setUpdateHandlers(ctx); err != nil {
		return err
	}
	for {
		if err := i.advance(ctx); err != nil {
			return err
		}
		i.describe(ctx)
		if i.context.Deleted { // the remaining signals of a deleted check have no effect
			return workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
		}
		if i.finished() || i.historyFull(ctx) {
			if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
				return err
			}
			switch {
			case i.finished() && !i.hasWork():
				return nil
			case i.historyFull(ctx): // the next run handles the waiting signals
				return workflow.NewContinueAsNewError(ctx, Incident, i.continuedInput())
			}
		}
		if err := workflow.Await(ctx, i.hasWork); err != nil {
			return err
		}
	}
}

// retryForever returns options for activities that must succeed in the end: they are
// retried without a limit while Postgres or Temporal is unavailable.
func retryForever(timeout time.Duration) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout: timeout,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 15 * time.Second,
		},
	}
}

// incidents is the state of a running incident workflow.
type incidents struct {
	in                          IncidentInput
	voteSignals, refreshSignals workflow.ReceiveChannel
	unhandled                   []vigil.Vote // received by the previous run
	// votes are the newest by region. Those of regions that were removed or are
	// silent do not count.
	votes   map[string]vigil.Vote
	context vigil.IncidentContext
	// stale: the context must be read again. refreshRequested: an update may
	// have changed the decision. contextRead: the context was read at least once.
	stale, refreshRequested, contextRead bool
	// past: the decision was made by votes of an episode that is over, or it was refused, so
	// the next one waits for the context.
	past bool
	// inMaintenance: no incident may open.
	inMaintenance bool
	// mutex serializes the changes that votes and updates make to an incident.
	mutex    workflow.Mutex
	activity workflow.Context // carries the options of activities
	inTask   workflow.Context // carries those of a local activity
	changes  int              // votes applied and activities started in this run
}

// hasWork reports whether a signal, an update or a stale context is waiting.
func (i *incidents) hasWork() bool {
	return i.stale || i.refreshRequested || len(i.unhandled) > 0 || i.voteSignals.Len() > 0 || i.refreshSignals.Len() > 0
}

// historyFull reports whether the run must continue as new, even when more signals
// are waiting: the server limits the signals of one run.
func (i *incidents) historyFull(ctx workflow.Context) bool {
	return i.changes >= maxChanges || workflow.GetInfo(ctx).GetContinueAsNewSuggested()
}

// finished reports whether no rule fires and no incident is open or latched.
func (i *incidents) finished() bool {
	return i.context.Incident == nil && i.context.Latch == nil && !vigil.Decide(i.decisionInput()).Firing
}

// continuedInput is the input of the next run. That run reads its context first,
// which covers every refresh signal of this one.
func (i *incidents) continuedInput() IncidentInput {
	in := i.in
	in.Votes, in.UnhandledVotes = nil, i.receiveVotes()
	in.Incident, in.Latch = i.context.Incident, i.context.Latch
	for _, region := range i.context.Regions {
		if vote, ok := i.votes[region.Region]; ok {
			in.Votes = append(in.Votes, vote)
		}
	}
	return in
}

// advance handles signals until none is waiting or the history is full.
func (i *incidents) advance(ctx workflow.Context) error {
	if err := i.mutex.Lock(ctx); err != nil {
		return err
	}
	defer i.mutex.Unlock()
	for i.hasWork() && !i.context.Deleted && !i.historyFull(ctx) {
		for i.refreshSignals.ReceiveAsync(nil) {
			i.stale = true
		}
		i.refreshRequested = false
		votes := i.receiveVotes()
		rows, err := i.refresh(ctx, &votes)
		if err != nil {
			return err
		}
		i.addFirstVotes(votes)
		for _, vote := range append(votes, rows...) {
			i.applyVote(vote)
			if err := i.decide(ctx); err != nil {
				return err
			}
		}
		if err := i.decide(ctx); err != nil {
			return err
		}
	}
	return nil
}

// receiveVotes drains the vote signals, in their order.
func (i *incidents) receiveVotes() []vigil.Vote {
	votes := i.unhandled
	i.unhandled = nil
	for {
		var vote vigil.Vote
		if !i.voteSignals.ReceiveAsync(&vote) {
			return votes
		}
		votes = append(votes, vote)
	}
}

// addFirstVotes gives every region without a vote its first one, so that no decision
// is made with a part of the regions.
func (i *incidents) addFirstVotes(votes []vigil.Vote) {
	for _, vote := range votes {
		if _, ok := i.votes[vote.Region]; !ok {
			i.votes[vote.Region] = vote
		}
	}
	for _, region := range i.context.Regions {
		if _, ok := i.votes[region.Region]; !ok && region.Voted {
			i.votes[region.Region] = region.Vote
		}
	}
}

// applyVote replaces the vote of a region unless that one is newer.
func (i *incidents) applyVote(vote vigil.Vote) {
	i.changes++
	if !i.votes[vote.Region].NewerThan(vote) {
		i.votes[vote.Region] = vote
	}
}

// decisionInput returns the input of the next decision.
func (i *incidents) decisionInput() vigil.DecisionInput {
	in := vigil.DecisionInput{
		Enabled: i.context.Enabled, Rules: i.context.Rules, Open: i.context.Incident != nil, InMaintenance: i.inMaintenance,
	}
	for _, region := range i.context.Regions {
		if vote, ok := i.votes[region.Region]; ok && !region.Silent {
			in.Votes = append(in.Votes, vote)
		}
	}
	in.Incident = i.context.Incident
	if i.context.Latch != nil {
		in.Latched, in.Quiet, in.LatchedRules = true, i.context.Latch.Quiet, i.context.Latch.Rules
	}
	return in
}

// decide makes the next decision and executes it.
func (i *incidents) decide(ctx workflow.Context) error {
	if i.context.Deleted || i.past {
		return nil
	}
	in := i.decisionInput()
	d := vigil.Decide(in)
	if in.Latched && (d.Unlatch || !slices.Equal(d.Quiet, in.Quiet) || !slices.Equal(d.LatchedRules, in.LatchedRules)) {
		if err := i.saveLatch(ctx, d); err != nil {
			return err
		}
	}
	switch {
	case d.Open:
		return i.open(ctx, in, d)
	case d.Resolve:
		return i.resolve(ctx, vigil.ResolveRequest{Resolution: vigil.ResolvedAutomatically})
	case d.Remove:
		return i.resolve(ctx, vigil.ResolveRequest{Resolution: vigil.ResolvedCheckRemoved})
	case len(d.Begun) > 0 || len(d.Ended) > 0:
		return i.changeRules(ctx, in, d)
	}
	return nil
}

// saveLatch stores what the latch still holds, or that it is released, before the workflow goes on with
// it: a latch that only the workflow knew would be lost when it starts again.
func (i *incidents) saveLatch(ctx workflow.Context, d vigil.Decision) error {
	var acts *activities.Incidents
	latch := activities.LatchState{ID: i.context.Latch.IncidentID, Quiet: d.Quiet, LatchedRules: d.LatchedRules, Ended: d.Unlatch}
	if err := i.change(ctx, acts.KeepLatch, latch, nil); err != nil {
		return fmt.Errorf("keep the latch: %w", err)
	}
	i.context.Latch = &vigil.Latch{IncidentID: latch.ID, Quiet: d.Quiet, Rules: d.LatchedRules}
	if d.Unlatch {
		i.context.Latch = nil
	}
	return nil
}

// open opens the incident of the next episode. Its ID follows from the workflow and the episode, so
// that an attempt that is repeated opens the same one. The activity opens none when the check or its
// rules have changed since the context was read, or when it is in maintenance: then it is read again.
func (i *incidents) open(ctx workflow.Context, in vigil.DecisionInput, d vigil.Decision) error {
	request := i.openRequest(vigil.IncidentID(workflow.GetInfo(ctx).FirstRunID, i.in.Episode+1), in.Votes, d.Rules)
	var acts *activities.Incidents
	var head vigil.IncidentHead
	if err := i.change(ctx, acts.Open, request, &head); err != nil {
		return fmt.Errorf("open the incident: %w", err)
	}
	i.in.Episode++
	if head.ID == uuid.Nil { // the check or its rules have changed, or it is in maintenance
		i.stale, i.past = true, true
		return nil
	}
	if head.Status != vigil.IncidentResolved {
		i.context.Incident = &head
	} else {
		i.skipPastIncident()
	}
	return workflow.UpsertTypedSearchAttributes(ctx,
		temporal.NewSearchAttributeKeyKeyword(AttributeIncident).ValueSet(head.ID.String()))
}

// openRequest returns a request with the votes in which one of the rules fires.
func (i *incidents) openRequest(id uuid.UUID, votes []vigil.Vote, rules []uuid.UUID) vigil.OpenRequest {
	request := vigil.OpenRequest{ID: id, CheckID: i.in.CheckID, Rules: rules}
	for _, vote := range votes {
		if slices.ContainsFunc(vote.Firing, func(id uuid.UUID) bool { return slices.Contains(rules, id) }) {
			request.Votes = append(request.Votes, vote)
		}
	}
	return request
}

// resolve resolves the open incident.
func (i *incidents) resolve(ctx workflow.Context, request vigil.ResolveRequest) error {
	request.ID = i.context.Incident.ID
	var acts *activities.Incidents
	err := i.change(ctx, acts.Resolve, request, nil)
	if isKind(err, vigil.CodeNotFound) { // deleted with its check
		i.stale, err = true, nil
	}
	if err != nil {
		return fmt.Errorf("resolve the incident: %w", err)
	}
	i.context.Incident = nil
	if request.Latch {
		i.context.Latch = &vigil.Latch{IncidentID: request.ID, Quiet: request.Quiet, Rules: request.LatchedRules}
	}
	return nil
}

// change executes an activity that changes an incident, and counts it.
func (i *incidents) change(ctx workflow.Context, act, arg, into any) error {
	i.changes++
	return workflow.ExecuteActivity(i.activity, act, arg).Get(ctx, into)
}

// isKind reports whether an activity failed with a non-retryable error of the code.
func isKind(err error, code vigil.Code) bool {
	failed, ok := errors.AsType[*temporal.ApplicationError](err)
	return ok && failed.Type() == string(code)
}
