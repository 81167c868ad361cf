package workflows

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"vigil"
	"vigil/activities"
)

// The messages that an incident workflow takes.
const (
	// SignalVote carries a vigil.Vote: what a region says of the check.
	SignalVote = "vote"
	// SignalRefresh says that Postgres knows something new.
	SignalRefresh = "look"
	// UpdateAcknowledge and UpdateResolve carry a Request. They end when the
	// incident is stored as wished.
	UpdateAcknowledge = "acknowledge"
	UpdateResolve     = "resolve"
)

// The search attributes that workflows set by themselves.
const (
	AttributeIncident = "VigilIncident"
	AttributeDelivery = "VigilDelivery"
)

// maxChanges bounds what one run of an incident workflow takes and does before
// it is continued as new.
const maxChanges = 500

// IncidentInput starts or continues the workflow of a check's incidents. A new
// one is given the check only.
type IncidentInput struct {
	CheckID uuid.UUID `json:"check_id"`
	// Episode counts the incidents that the chain of runs has opened.
	Episode int `json:"episode,omitempty"`
	// Votes are the newest of each region, in the regions' order.
	Votes []vigil.Vote `json:"votes,omitempty"`
	// UnhandledVotes are the votes that were told too late for the run before, in the
	// order in which they were told.
	UnhandledVotes []vigil.Vote `json:"untaken,omitempty"`
}

// Request asks for something to be done about an incident.
type Request struct {
	IncidentID uuid.UUID `json:"incident_id"`
	By         string    `json:"by,omitempty"` // who asks, for people
	Note       string    `json:"note,omitempty"`
}

// Incident decides about the incidents of one check: it takes the votes of the
// check's regions and opens and resolves incidents by the region policies of the
// rules. It lives while a region fires, an incident is open, or the episode of
// one that was resolved by hand is not over. That the server runs one workflow
// of an id is what makes incidents of a check come one after the other.
func Incident(ctx workflow.Context, in IncidentInput) error {
	i := &incidents{
		in:             in,
		voteSignals:    workflow.GetSignalChannel(ctx, SignalVote),
		refreshSignals: workflow.GetSignalChannel(ctx, SignalRefresh),
		unhandled:      in.UnhandledVotes,
		votes:          make(map[string]vigil.Vote),
		mutex:          workflow.NewMutex(ctx),
		stale:          true,
		activity:       workflow.WithActivityOptions(ctx, retryForever(10*time.Second)),
	}
	for _, vote := range in.Votes {
		i.votes[vote.Region] = vote
	}
	if err := i.takeUpdates(ctx); err != nil {
		return err
	}
	for {
		if err := i.advance(ctx); err != nil {
			return err
		}
		i.describe(ctx)
		if i.context.Gone { // what is still told of the check means nothing
			return workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) })
		}
		if i.finished() || i.full(ctx) {
			if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
				return err
			}
			switch {
			case i.finished() && !i.waiting():
				return nil
			case i.full(ctx): // whatever is waiting goes along
				return workflow.NewContinueAsNewError(ctx, Incident, i.carried())
			}
		}
		if err := workflow.Await(ctx, i.waiting); err != nil {
			return err
		}
	}
}

// retryForever are the options of activities that are repeated until they succeed:
// while Postgres or Temporal is away, nothing is given up.
func retryForever(timeout time.Duration) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout: timeout,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 15 * time.Second,
		},
	}
}

// incidents is the workflow under way.
type incidents struct {
	in                          IncidentInput
	voteSignals, refreshSignals workflow.ReceiveChannel
	unhandled                   []vigil.Vote // by the run before
	// votes are the newest votes by region, of which those of regions that
	// are gone or silent do not count.
	votes   map[string]vigil.Vote
	context vigil.IncidentContext
	// stale: the survey must be read again. poked: something other than a
	// vote may have changed the decision. surveyed: it was read at least once.
	stale, refreshRequested, surveyed bool
	// mutex keeps updates and votes from changing an incident at once.
	mutex    workflow.Mutex
	activity workflow.Context // for activities: with their options
	changes  int              // votes taken and activities run
}

// waiting reports whether there is something to advance by.
func (i *incidents) waiting() bool {
	return i.stale || i.refreshRequested || len(i.unhandled) > 0 || i.voteSignals.Len() > 0 || i.refreshSignals.Len() > 0
}

// full reports whether the run has to be continued as new, even while there is
// always something waiting: the server takes no more than so many signals a run.
func (i *incidents) full(ctx workflow.Context) bool {
	return i.changes >= maxChanges || workflow.GetInfo(ctx).GetContinueAsNewSuggested()
}

// finished reports whether nothing is left to look after.
func (i *incidents) finished() bool {
	return i.context.Incident == nil && i.context.Latch == nil && !vigil.Decide(i.situation()).Firing
}

// carried is the input of the run that continues this one. That one surveys
// first, which answers every look.
func (i *incidents) carried() IncidentInput {
	in := i.in
	in.Votes, in.UnhandledVotes = nil, i.receive()
	for _, region := range i.context.Regions {
		if vote, ok := i.votes[region.Region]; ok {
			in.Votes = append(in.Votes, vote)
		}
	}
	return in
}

// advance takes whatever is waiting until nothing is, or the run is full.
func (i *incidents) advance(ctx workflow.Context) error {
	if err := i.mutex.Lock(ctx); err != nil {
		return err
	}
	defer i.mutex.Unlock()
	for i.waiting() && !i.context.Gone && !i.full(ctx) {
		for i.refreshSignals.ReceiveAsync(nil) {
			i.stale = true
		}
		i.refreshRequested = false
		votes := i.receive()
		rows, err := i.refresh(ctx, &votes)
		if err != nil {
			return err
		}
		i.seed(votes)
		for _, vote := range append(votes, rows...) {
			i.take(vote)
			if err := i.settle(ctx); err != nil {
				return err
			}
		}
		if err := i.settle(ctx); err != nil {
			return err
		}
	}
	return nil
}

// receive returns the votes that wait, in the order in which they were told.
func (i *incidents) receive() []vigil.Vote {
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

// refresh reads where the check stands when that may have changed, and returns the
// votes that are stored. Votes that were told meanwhile join the others: a vote
// is stored before it is told and told before the next is stored, so whatever is
// told by now is older than the rows and has to be heard first. A vote that was
// superseded in its row before anyone heard it is an episode all the same.
func (i *incidents) refresh(ctx workflow.Context, votes *[]vigil.Vote) ([]vigil.Vote, error) {
	if !i.stale && !slices.ContainsFunc(*votes, i.surprising) {
		return nil, nil
	}
	i.stale = false
	var survey vigil.IncidentContext
	if err := workflow.ExecuteActivity(i.activity, activities.NameReadContext, i.in.CheckID).Get(ctx, &survey); err != nil {
		return nil, fmt.Errorf("survey: %w", err)
	}
	i.context, i.surveyed = survey, true
	late := i.receive()
	*votes = append(*votes, late...)
	// One of a region that the survey calls silent was stored after it was read.
	if slices.ContainsFunc(late, i.surprising) && workflow.GetVersion(ctx, "look-again-for-late-votes", workflow.DefaultVersion, 1) >= 1 {
		i.stale = true
	}
	var rows []vigil.Vote
	for _, region := range survey.Regions {
		if region.Voted {
			rows = append(rows, region.Vote)
		}
	}
	return rows, nil
}

// surprising reports whether a vote shows that the survey is out of date.
func (i *incidents) surprising(vote vigil.Vote) bool {
	at := slices.IndexFunc(i.context.Regions, func(r vigil.RegionVote) bool { return r.Region == vote.Region })
	return at < 0 || i.context.Regions[at].Silent || vote.Revision > i.context.Revision
}

// seed gives regions that are not known yet the first vote that is told of them,
// so that no decision rests on half of the regions.
func (i *incidents) seed(votes []vigil.Vote) {
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

// take makes a vote that of its region unless a newer one is known.
func (i *incidents) take(vote vigil.Vote) {
	i.changes++
	if !i.votes[vote.Region].NewerThan(vote) {
		i.votes[vote.Region] = vote
	}
}

// situation is what the next decision rests on.
func (i *incidents) situation() vigil.DecisionInput {
	s := vigil.DecisionInput{Enabled: i.context.Enabled, Rules: i.context.Rules, Open: i.context.Incident != nil}
	for _, region := range i.context.Regions {
		if vote, ok := i.votes[region.Region]; ok && !region.Silent {
			s.Votes = append(s.Votes, vote)
		}
	}
	if i.context.Latch != nil {
		s.Latched, s.Quiet = true, i.context.Latch.Quiet
	}
	return s
}

// settle decides and does what was decided.
func (i *incidents) settle(ctx workflow.Context) error {
	if i.context.Gone {
		return nil
	}
	s := i.situation()
	d := vigil.Decide(s)
	if s.Latched && (d.Unlatch || !slices.Equal(d.Quiet, s.Quiet)) {
		if err := i.keepLatch(ctx, d); err != nil {
			return err
		}
	}
	switch {
	case d.Open:
		return i.open(ctx, s, d)
	case d.Resolve:
		return i.resolve(ctx, vigil.ResolveRequest{Resolution: vigil.ResolvedAutomatically})
	case d.Remove:
		return i.resolve(ctx, vigil.ResolveRequest{Resolution: vigil.ResolvedCheckRemoved})
	}
	return nil
}

func (i *incidents) keepLatch(ctx workflow.Context, d vigil.Decision) error {
	var acts *activities.Incidents
	latch := activities.LatchState{ID: i.context.Latch.IncidentID, Quiet: d.Quiet, Over: d.Unlatch}
	if err := i.run(ctx, acts.KeepLatch, latch, nil); err != nil {
		return fmt.Errorf("keep the latch: %w", err)
	}
	i.context.Latch = &vigil.Latch{IncidentID: latch.ID, Quiet: d.Quiet}
	if d.Unlatch {
		i.context.Latch = nil
	}
	return nil
}

func (i *incidents) open(ctx workflow.Context, s vigil.DecisionInput, d vigil.Decision) error {
	opening := vigil.OpenRequest{
		ID:      vigil.IncidentID(workflow.GetInfo(ctx).FirstRunID, i.in.Episode+1),
		CheckID: i.in.CheckID, Rules: d.Rules,
	}
	for _, vote := range s.Votes {
		if slices.ContainsFunc(vote.Firing, func(id uuid.UUID) bool { return slices.Contains(d.Rules, id) }) {
			opening.Votes = append(opening.Votes, vote)
		}
	}
	var acts *activities.Incidents
	var head vigil.IncidentHead
	if err := i.run(ctx, acts.Open, opening, &head); err != nil {
		return fmt.Errorf("open the incident: %w", err)
	}
	i.in.Episode++
	if head.ID == uuid.Nil { // the check or its rules are not what they were
		i.stale = true
		return nil
	}
	if head.Status != vigil.IncidentResolved {
		i.context.Incident = &head
	}
	return workflow.UpsertTypedSearchAttributes(ctx,
		temporal.NewSearchAttributeKeyKeyword(AttributeIncident).ValueSet(head.ID.String()))
}

// resolve ends the open incident.
func (i *incidents) resolve(ctx workflow.Context, closing vigil.ResolveRequest) error {
	closing.ID = i.context.Incident.ID
	var acts *activities.Incidents
	err := i.run(ctx, acts.Resolve, closing, nil)
	if isKind(err, vigil.CodeNotFound) { // deleted together with its check
		i.stale, err = true, nil
	}
	if err != nil {
		return fmt.Errorf("resolve the incident: %w", err)
	}
	i.context.Incident = nil
	if closing.Latch {
		i.context.Latch = &vigil.Latch{IncidentID: closing.ID, Quiet: closing.Quiet}
	}
	return nil
}

// run executes an activity that changes something.
func (i *incidents) run(ctx workflow.Context, act, arg, into any) error {
	i.changes++
	return workflow.ExecuteActivity(i.activity, act, arg).Get(ctx, into)
}

// isKind reports whether an activity failed for good, for a reason of that code.
func isKind(err error, code vigil.Code) bool {
	failed, ok := errors.AsType[*temporal.ApplicationError](err)
	return ok && failed.Type() == string(code)
}

// describe shows operators where the check stands.
func (i *incidents) describe(ctx workflow.Context) {
	text := "no incident"
	switch {
	case i.context.Incident != nil:
		text = fmt.Sprintf("**%s** incident %s", i.context.Incident.Status, i.context.Incident.ID)
	case i.context.Latch != nil:
		text = fmt.Sprintf("**latched**: incident %s was resolved by hand, its episode is not over", i.context.Latch.IncidentID)
	}
	for _, region := range i.context.Regions {
		vote, voted := i.votes[region.Region]
		switch {
		case region.Silent:
			text += fmt.Sprintf("\n\n- %s is silent", region.Region)
		case voted && len(vote.Firing) > 0:
			text += fmt.Sprintf("\n\n- %s fires %d rules since %s", region.Region, len(vote.Firing), vote.Slot.Format(time.RFC3339))
		}
	}
	workflow.SetCurrentDetails(ctx, text)
}
