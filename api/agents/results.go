// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/agentlink"
	"github.com/vigil-monitor/vigil/internal/location"
)

type reportInput struct {
	SessionPath

	Body agentlink.Report
}

// report judges and stores the results of a report.
func (s *Service) report(ctx context.Context, in *reportInput) (*rest.Answer[agentlink.Receipt], error) {
	session, err := s.session(ctx, in.SessionPath)
	if err != nil {
		return nil, err
	}
	stored, refused, err := s.take(ctx, session.Location, in.Body.Results)
	if err != nil {
		return nil, err
	}
	lives, err := s.store.ReportOf(ctx, location.Seen{Session: session, Report: &in.Body, Refused: len(refused)})
	if err != nil {
		return nil, err
	}
	return rest.NewAnswer(agentlink.Receipt{
		Time: lives.Time, Epoch: lives.Epoch, Stored: stored, Refused: refused, Agents: lives.Agents,
	}), nil
}

// take stores what is right of the results, and returns how many are, and the others.
func (s *Service) take(ctx context.Context, in location.Access, results []agentlink.Result) (int, []agentlink.Refusal, error) {
	refused := []agentlink.Refusal{}
	if len(results) == 0 {
		return 0, refused, nil
	}
	asked := make(map[uuid.UUID]bool, len(results))
	var ids []uuid.UUID
	for i := range results {
		if id := results[i].CheckID; !asked[id] {
			asked[id], ids = true, append(ids, id)
		}
	}
	runs, err := s.store.RunsOf(ctx, in, ids)
	if err != nil {
		return 0, nil, err
	}
	now := s.deps.Now()
	var right []agentlink.Result
	for i := range results {
		reason, message := judge(&results[i], runs, now)
		if reason == "" {
			right = append(right, results[i])
			continue
		}
		refused = append(refused, agentlink.Refusal{Index: i, Reason: reason, Message: message})
		if s.deps.Refused != nil {
			s.deps.Refused(reason, 1)
		}
	}
	if len(right) == 0 {
		return 0, refused, nil
	}
	if err := s.store.AddResults(ctx, in.Key, right); err != nil {
		return 0, nil, err
	}
	if s.deps.Sent != nil {
		s.deps.Sent()
	}
	return len(right), refused, nil
}

// judge says why a result is refused; an empty reason: it is not.
func judge(r *agentlink.Result, runs map[uuid.UUID]location.Runs, now time.Time) (reason, message string) {
	run, known := runs[r.CheckID]
	problem := judgeObservation(&r.Observation)
	switch {
	case !known:
		return agentlink.RefusedUnknown, "No check of the location has this ID."
	case r.Slot.After(now.Add(agentlink.Ahead)):
		return agentlink.RefusedFuture, fmt.Sprintf("The slot is %s in the future.", r.Slot.Sub(now).Round(time.Millisecond))
	case r.Time.After(now.Add(agentlink.Ahead)):
		return agentlink.RefusedFuture, fmt.Sprintf("The time is %s in the future.", r.Time.Sub(now).Round(time.Millisecond))
	case r.Slot.Before(now.Add(-agentlink.Longest)):
		return agentlink.RefusedOld, fmt.Sprintf("The slot is more than %s ago.", agentlink.Longest)
	case r.Time.Before(r.Slot.Add(-agentlink.Ahead)):
		return agentlink.RefusedInvalid, "The probe began before its slot."
	case r.Revision < 1, r.Revision > run.Revision:
		return agentlink.RefusedInvalid, "No definition of the check has this revision."
	case problem != "":
		return agentlink.RefusedInvalid, problem
	case !onSchedule(r, run):
		return agentlink.RefusedSchedule, "The check has no such slot."
	}
	return "", ""
}

// onSchedule reports whether a slot is one of the definition that the agent has probed. The schedule of an
// older definition is not known any more: its slots end where the present one begins.
func onSchedule(r *agentlink.Result, run location.Runs) bool {
	if r.Slot.Before(run.Schedule.First()) {
		return r.Revision < run.Revision
	}
	return run.Schedule.Next(r.Slot.Add(-1)).Equal(r.Slot)
}

// longestResponse is the longest response time of a probe.
const longestResponse = time.Hour

// judgeObservation says what is wrong with an observation, empty when nothing is.
func judgeObservation(o *agentlink.Observation) string {
	switch {
	case o.Unavailable && o.Success:
		return "What could not be probed has no success."
	case !o.Success && o.Error == "":
		return "A failure needs an error."
	case o.Success && o.Error != "":
		return "A success has no error."
	case math.IsNaN(o.ResponseTimeMS), o.ResponseTimeMS < 0, o.ResponseTimeMS > float64(longestResponse.Milliseconds()):
		return "response_time_ms must be from 0 to 3600000."
	case o.StatusCode < 0 || o.StatusCode > 999:
		return "status_code must be from 0 to 999."
	}
	return ""
}
