// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/api/stream"
	"github.com/vigil-monitor/vigil/internal/agentlink"
	"github.com/vigil-monitor/vigil/internal/location"
)

// Times of a stream.
const (
	// definitionsEvery is the time between two looks for changes, and authorizeEvery that between two
	// looks at the token.
	definitionsEvery = time.Second
	authorizeEvery   = 2 * time.Second
	heartbeatEvery   = 15 * time.Second
	writeDeadline    = 10 * time.Second
	// mostChecks is how many checks an event has.
	mostChecks = 200
)

type streamInput struct {
	SessionPath

	LastEventID string `header:"Last-Event-ID" maxLength:"1000" doc:"Resume after this event; without it all checks come first."`
}

func (s *Service) stream(ctx context.Context, in *streamInput) (*huma.StreamResponse, error) {
	session, err := s.session(ctx, in.SessionPath)
	if err != nil {
		return nil, err
	}
	key, err := agentlink.ParseKey(session.Key)
	if err != nil {
		return nil, err
	}
	sub, err := s.hub.join(session) //nolint:contextcheck // what it begins is for all streams
	if err != nil {
		return nil, err
	}
	cursor := in.LastEventID
	if strings.HasSuffix(cursor, pausedMark) {
		cursor = ""
	}
	f := follower{
		service: s,
		sub:     sub,
		key:     key,
		cursor:  cursor,
		given:   cursor != "",
		hash:    rest.RequestOf(ctx).TokenHash,
		log:     rest.RequestOf(ctx).Log(),
	}
	return &huma.StreamResponse{Body: func(answer huma.Context) {
		defer s.hub.leave(sub)
		f.run(ctx, answer)
	}}, nil
}

// follower is what a stream sends.
type follower struct {
	service *Service
	sub     *subscriber
	key     agentlink.PublicKey
	cursor  string // of what was sent; empty: nothing was
	given   bool   // the client gave the cursor
	// paused are the checks that maintenance pauses, which the agent does not have.
	paused map[uuid.UUID]bool
	hash   []byte
	log    *slog.Logger
	out    *stream.Frames
}

// run sends until the client, the token or the server goes.
func (f *follower) run(ctx context.Context, answer huma.Context) {
	f.out = stream.NewFrames(answer, writeDeadline)
	if !f.out.Comment() || !f.definitions(ctx) {
		return
	}
	changes, authorize, heartbeat := time.NewTicker(definitionsEvery), time.NewTicker(authorizeEvery), time.NewTicker(heartbeatEvery)
	defer changes.Stop()
	defer authorize.Stop()
	defer heartbeat.Stop()
	for goesOn := true; goesOn; {
		select {
		case <-ctx.Done():
			return
		case <-f.service.hub.closing:
			return
		case task := <-f.sub.tasks:
			goesOn = f.task(ctx, task)
		case <-changes.C:
			goesOn = f.definitions(ctx)
		case <-authorize.C:
			goesOn = f.authorized(ctx)
		case <-heartbeat.C:
			goesOn = f.out.Comment()
		}
	}
}

// authorized reports whether the token still opens the session. While that cannot be asked, it does.
func (f *follower) authorized(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	_, err := f.service.store.SessionOf(ctx, f.hash, f.sub.session.ID)
	code := vigil.ErrorCode(err)
	return code != vigil.CodeUnauthorized && code != vigil.CodeNotFound
}

// definitions sends what changed since the cursor, and all checks when there is none. While maintenance pauses
// the probing of a check, it is none of the location's.
func (f *follower) definitions(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	in := f.sub.session.Location
	full := f.cursor == ""
	defs, gone, next, err := f.service.store.LocationDefinitions(ctx, in.OrgID, in.Key, f.cursor)
	if err == nil && next == "" || err != nil && f.given { // the cursor is of another database, or none
		f.cursor = ""
		defs, gone, next, err = f.service.store.LocationDefinitions(ctx, in.OrgID, in.Key, "")
		full = true
	}
	ended := goneOf(gone, defs)
	if err == nil {
		defs, ended, err = f.pause(ctx, defs, ended)
	}
	if err != nil {
		if ctx.Err() == nil {
			f.log.LogAttrs(ctx, slog.LevelWarn, "the checks of a location cannot be read", slog.Any("error", err))
		}
		return true // the next tick tries again
	}
	f.cursor, f.given = next, false
	if len(f.paused) > 0 {
		next += pausedMark
	}
	if !full && len(defs) == 0 && len(ended) == 0 {
		return true
	}
	return f.sendDefinitions(ctx, next, defs, agentlink.Definitions{Full: full, Checks: []agentlink.Check{}, Gone: ended})
}

// pausedMark ends a cursor at which the agent did not have all checks: a stream that goes on from it begins with all,
// since the end of maintenance is no change of a check.
const pausedMark = "+paused"

// pause takes out what maintenance pauses, and adds what it does not pause any more.
func (f *follower) pause(ctx context.Context, defs []vigil.Definition, ended []uuid.UUID) ([]vigil.Definition, []uuid.UUID, error) {
	in := f.sub.session.Location
	list, err := f.service.store.PausedChecks(ctx, in.OrgID, in.Key)
	if err != nil {
		return nil, nil, err
	}
	paused := make(map[uuid.UUID]bool, len(list))
	for _, id := range list {
		paused[id] = true
		if !f.paused[id] || slices.ContainsFunc(defs, func(d vigil.Definition) bool { return d.Check.ID == id }) {
			ended = append(ended, id)
		}
	}
	defs = slices.DeleteFunc(defs, func(d vigil.Definition) bool { return paused[d.Check.ID] })
	for id := range f.paused {
		if paused[id] || slices.ContainsFunc(defs, func(d vigil.Definition) bool { return d.Check.ID == id }) {
			continue
		}
		def, may, err := f.service.hub.definition(ctx, in, id)
		if err != nil {
			return nil, nil, err
		}
		if may {
			defs = append(defs, def)
		}
	}
	f.paused = paused
	return defs, ended, nil
}

// sendDefinitions sends changes, in several events where they are many.
func (f *follower) sendDefinitions(ctx context.Context, cursor string, defs []vigil.Definition, changes agentlink.Definitions) bool {
	for i := range defs {
		check, runs, err := f.sealed(&defs[i])
		if err != nil {
			f.log.LogAttrs(ctx, slog.LevelError, "a check cannot be sent to an agent", slog.Any("error", err))
			continue
		}
		if !runs {
			changes.Gone = append(changes.Gone, defs[i].Check.ID)
			continue
		}
		changes.Checks = append(changes.Checks, check)
		if len(changes.Checks) == mostChecks {
			// Only the last one has the cursor: what is cut off before it comes again.
			if !f.send("", agentlink.EventDefinitions, changes) {
				return false
			}
			changes = agentlink.Definitions{Checks: []agentlink.Check{}, Gone: []uuid.UUID{}}
		}
	}
	return f.send(cursor, agentlink.EventDefinitions, changes) && f.out.Flush()
}

// sealed returns a check as it travels, and whether it runs in the location.
func (f *follower) sealed(def *vigil.Definition) (agentlink.Check, bool, error) {
	c := &def.Check
	schedule, runs := def.Schedule(f.sub.session.Location.Key)
	if !runs {
		return agentlink.Check{}, false, nil
	}
	check, err := f.seal(c)
	check.IntervalMS, check.OffsetMS = schedule.Interval.Milliseconds(), schedule.Offset.Milliseconds()
	check.Start, check.Anchor = schedule.Start, schedule.Anchor
	return check, true, err
}

// seal returns a check without its slots.
func (f *follower) seal(c *vigil.Check) (check agentlink.Check, err error) {
	check = agentlink.Check{
		ID: c.ID, Revision: c.Revision, Type: c.Type, Retry: agentlink.RetryOf(c.Retry), NoEvidence: c.NoEvidence,
		IntervalMS: c.Interval.Milliseconds(),
	}
	check.Sealed, err = f.key.Seal(c.ID, c.Revision, c.Config)
	return check, err
}

// task sends a task, unless another stream has it.
func (f *follower) task(ctx context.Context, task location.Task) bool {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	def, may, err := f.service.hub.definition(ctx, f.sub.session.Location, task.CheckID)
	if err != nil || !may {
		return true
	}
	check, err := f.seal(&def.Check)
	if err != nil {
		return true
	}
	if taken, err := f.service.store.TakeTask(ctx, task.ID, f.sub.session.ID); err != nil || !taken {
		return true
	}
	return f.send("", agentlink.EventTask, agentlink.Task{ID: task.ID, Check: check, Once: task.Once, Deadline: task.Deadline}) &&
		f.out.Flush()
}

func (f *follower) send(id, event string, what any) bool {
	data, err := json.Marshal(what)
	return err == nil && f.out.Event(id, event, data)
}

// goneOf are the checks whose loops in the location ended, and did not begin again.
func goneOf(gone []vigil.Tombstone, defs []vigil.Definition) []uuid.UUID {
	ids := []uuid.UUID{}
	for _, stone := range gone {
		if !slices.ContainsFunc(defs, func(d vigil.Definition) bool { return d.Check.ID == stone.CheckID }) {
			ids = append(ids, stone.CheckID)
		}
	}
	return ids
}
