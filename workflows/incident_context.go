// SPDX-License-Identifier: Apache-2.0

package workflows

import (
	"fmt"
	"slices"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
)

// inTaskTimeout is how long the context may take to be read inside a workflow task. That
// holds one of the worker's few places for these, and the server gives the task up after 10 s.
const inTaskTimeout = 2 * time.Second

// refresh reads the context when it may have changed, and returns the stored votes.
// Votes that were signaled during the read are appended to votes: a region stores
// a vote before it signals it, and signals it before it stores the next, so these
// are older than the rows and must be handled first. A vote that was replaced in
// its row before it was handled still counts as an episode.
func (i *incidents) refresh(ctx workflow.Context, votes *[]vigil.Vote) ([]vigil.Vote, error) {
	if !i.stale && !slices.ContainsFunc(*votes, i.outdatesContext) {
		return nil, nil
	}
	i.stale = false
	read, err := i.readContext(ctx, *votes)
	if err != nil {
		return nil, fmt.Errorf("read the context: %w", err)
	}
	known := i.context
	i.context, i.contextRead, i.past = read, true, false
	i.inMaintenance = read.Maintenance != nil
	if err := i.restoreForgotten(ctx, known); err != nil {
		return nil, err
	}
	late := i.receiveVotes()
	*votes = append(*votes, late...)
	// A vote of a region that the context calls silent was stored after the read.
	if slices.ContainsFunc(late, i.outdatesContext) {
		i.stale = true
	}
	var rows []vigil.Vote
	for _, region := range read.Regions {
		if region.Voted {
			rows = append(rows, region.Vote)
		}
	}
	return rows, nil
}

// readContext reads the context: first inside the workflow task, as a local activity, which
// spares three state transitions and the way through two task queues. What changes an
// incident is never done there: a workflow task may fail and be repeated, and would then see
// its own changes.
//
// Signals that come during a workflow task wait for the next one. So the rows may not be newer
// than the votes that are known: those in between would be handled too late.
func (i *incidents) readContext(ctx workflow.Context, votes []vigil.Vote) (vigil.IncidentContext, error) {
	var read vigil.IncidentContext
	err := workflow.ExecuteLocalActivity(i.inTask, activities.NameReadContext, i.in.CheckID).Get(ctx, &read)
	if err == nil && !slices.ContainsFunc(read.Regions, func(r vigil.RegionVote) bool { return r.Voted && !i.knows(votes, r.Vote) }) {
		return read, nil
	}
	read = vigil.IncidentContext{}
	err = workflow.ExecuteActivity(i.activity, activities.NameReadContext, i.in.CheckID).Get(ctx, &read)
	return read, err
}

// knows reports whether a stored vote, or a newer one of its region, is among the votes that
// were handled or that wait to be.
func (i *incidents) knows(waiting []vigil.Vote, stored vigil.Vote) bool {
	known, handled := i.votes[stored.Region]
	return handled && !stored.NewerThan(known) ||
		slices.ContainsFunc(waiting, func(v vigil.Vote) bool { return v.Region == stored.Region && !stored.NewerThan(v) })
}

// outdatesContext reports whether a vote shows that the context is out of date.
func (i *incidents) outdatesContext(vote vigil.Vote) bool {
	at := slices.IndexFunc(i.context.Regions, func(r vigil.RegionVote) bool { return r.Region == vote.Region })
	return at < 0 || i.context.Regions[at].Silent || vote.Revision > i.context.Revision
}
