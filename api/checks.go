package api

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"vigil"
)

const (
	tagChecks     = "Checks"
	resourceCheck = "check"
	// unverifiedDays is how long checks of an unverified account live.
	unverifiedDays = 14
)

func (s *Server) registerChecks() {
	register(s, operation{
		method: http.MethodGet, path: "/v1/checks", id: "list-checks", tag: tagChecks,
		summary: "List the checks, newest first",
	}, s.listChecks)
	register(s, operation{
		method: http.MethodPost, path: "/v1/checks", id: "create-check", tag: tagChecks, status: http.StatusCreated, audit: "check.create",
		summary:     "Create a check",
		description: "The first result follows at once. Regions may be given by a cloud provider's name; the check has our keys.",
		errors:      []int{http.StatusForbidden}, body: schemaRef("CheckCreate"),
	}, s.createCheck)
	register(s, operation{
		method: http.MethodGet, path: "/v1/checks/{id}", id: "get-check", tag: tagChecks, resource: resourceCheck,
		summary: "Show a check",
	}, s.getCheck)
	register(s, operation{
		method: http.MethodPut, path: "/v1/checks/{id}", id: "update-check", tag: tagChecks, resource: resourceCheck, audit: "check.update",
		summary:     "Change a check",
		description: "Members that are left out stay as they are; `config` is replaced as a whole. A secret that is written as `***` is kept.",
		errors:      []int{http.StatusForbidden}, body: schemaRef("CheckUpdate"),
	}, s.updateCheck)
	register(s, operation{
		method: http.MethodDelete, path: "/v1/checks/{id}", id: "delete-check", tag: tagChecks, status: http.StatusNoContent, resource: resourceCheck, audit: "check.delete",
		summary: "Delete a check and all that belongs to it",
	}, s.deleteCheck)
}

func (s *Server) listChecks(ctx context.Context, in *struct{ PageQuery }) (*listOf[checkView], error) {
	checks, total, err := s.Store.Checks(ctx, caller(ctx).org.ID, in.page())
	if err != nil {
		return nil, err
	}
	return listing(checks, total, s.showCheck), nil
}

func (s *Server) getCheck(ctx context.Context, in *IDPath) (*answerOf[checkView], error) {
	check, err := s.findCheck(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return answering(s.showCheck(check)), nil
}

// findCheck reads a check of the caller's organization.
func (s *Server) findCheck(ctx context.Context, text string) (vigil.Check, error) {
	id, err := parseID(text, resourceCheck)
	if err != nil {
		return vigil.Check{}, err
	}
	return s.Store.Check(ctx, caller(ctx).org.ID, id)
}

func (s *Server) createCheck(ctx context.Context, in *struct{ Body json.RawMessage }) (*answerOf[checkView], error) {
	patch, err := readCheckPatch(in.Body, true)
	if err != nil {
		return nil, err
	}
	who := caller(ctx)
	plan := s.plan(who)
	check, err := s.newCheck(patch, plan)
	if err != nil {
		return nil, err
	}
	if check.ID, err = uuid.NewV7(); err != nil {
		return nil, err
	}
	auditResource(ctx, check.ID)
	check.OrgID = who.org.ID
	verified, err := s.verified(ctx, who)
	if err != nil {
		return nil, err
	}
	if !verified {
		check.ExpiresAt = new(s.Now().Add(unverifiedDays * 24 * time.Hour).UTC())
	}
	check, err = s.Store.CreateCheck(ctx, check, plan, s.allowance(plan, verified))
	if err != nil {
		return nil, err
	}
	s.applyLoops(ctx, check, nil)
	return answering(s.showCheck(check)), nil
}

// verified reports whether the caller's address is verified. That it is not is
// asked again: it may have changed a moment ago.
func (s *Server) verified(ctx context.Context, who *principal) (bool, error) {
	if who.user.EmailVerified {
		return true, nil
	}
	user, err := s.Store.User(ctx, who.user.ID)
	return user.EmailVerified, err
}

// allowance is how many checks the caller may create in an hour. Where no mail
// can be sent nobody could verify an address, so nothing is enforced.
func (s *Server) allowance(plan vigil.Plan, verified bool) vigil.Allowance {
	switch {
	case s.Mailer == nil || !s.Mailer.Sends():
		return vigil.Allowance{CreationsPerHour: vigil.Unlimited}
	case verified:
		return vigil.Allowance{CreationsPerHour: plan.CreationsPerHourVerified}
	}
	return vigil.Allowance{CreationsPerHour: plan.CreationsPerHour}
}

type updateCheckInput struct {
	IDPath
	Body json.RawMessage
}

func (s *Server) updateCheck(ctx context.Context, in *updateCheckInput) (*answerOf[checkView], error) {
	id, err := in.parse(resourceCheck)
	if err != nil {
		return nil, err
	}
	patch, err := readCheckPatch(in.Body, false)
	if err != nil {
		return nil, err
	}
	auditMembers(ctx, patch.given)
	who := caller(ctx)
	plan := s.plan(who)
	var before vigil.Check
	check, err := s.Store.UpdateCheck(ctx, who.org.ID, id, plan, func(c *vigil.Check) error {
		before = *c
		return s.change(c, patch, plan)
	})
	if err != nil {
		return nil, err
	}
	if check.Revision != before.Revision {
		s.applyLoops(ctx, check, before.Regions)
		s.lookAt(ctx, check.ID)
	}
	return answering(s.showCheck(check)), nil
}

func (s *Server) deleteCheck(ctx context.Context, in *IDPath) (*struct{}, error) {
	id, err := in.parse(resourceCheck)
	if err != nil {
		return nil, err
	}
	regions, err := s.Store.DeleteCheck(ctx, caller(ctx).org.ID, id)
	if err != nil {
		return nil, err
	}
	s.stopLoops(ctx, id, regions, 0)
	s.lookAt(ctx, id)
	return nil, nil //nolint:nilnil // Huma's way to answer without a body
}

// applyLoops tells the loops of a check what was just committed, and ends those
// of the regions that it lost. The answer does not wait for them: with Temporal
// away the sweep does the same later.
func (s *Server) applyLoops(ctx context.Context, check vigil.Check, before []string) {
	lost := slices.DeleteFunc(slices.Clone(before), func(r string) bool { return slices.Contains(check.Regions, r) })
	s.stopLoops(ctx, check.ID, lost, check.Revision)
	s.tasks.start(ctx, "apply a check to its loops", func(ctx context.Context) error {
		rows, err := s.Store.Loops(ctx, check.OrgID, check.ID)
		if err != nil {
			return err
		}
		return each(rows, func(row vigil.Loop) error { return s.Loops.Apply(ctx, row) })
	})
}

func (s *Server) stopLoops(ctx context.Context, id uuid.UUID, regions []string, revision int64) {
	if len(regions) == 0 {
		return
	}
	s.tasks.start(ctx, "stop loops of a check", func(ctx context.Context) error {
		return each(regions, func(region string) error { return s.Loops.Stop(ctx, id, region, revision) })
	})
}
