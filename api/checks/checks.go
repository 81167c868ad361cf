// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/accounts"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/maintenance"
)

const (
	// ResourceCheck names a check in errors and in the audit log.
	ResourceCheck = "check"
)

// checkStore keeps checks.
type checkStore interface {
	checkReader
	Checks(ctx context.Context, orgID uuid.UUID, list listing.CheckList) ([]vigil.Check, listing.Extent, error)
	summaryStore
	bulkStore
	pingedStore
	placeStore
	CheckGroups(
		ctx context.Context,
		orgID uuid.UUID,
		filter listing.CheckFilter,
		key string,
	) (groups []listing.CheckGroup, more bool, err error)
	LabelKeys(ctx context.Context, orgID uuid.UUID) ([]listing.LabelKey, error)
	CheckCounts(ctx context.Context, orgID uuid.UUID, filter listing.CheckFilter) (listing.CheckCounts, error)
	// CreateCheck stores a new check with rules of it, in one transaction.
	CreateCheck(
		ctx context.Context, check vigil.Check, plan account.Plan, allow account.Allowance, rules ...vigil.Rule,
	) (vigil.Check, error)
	UpdateCheck(ctx context.Context, orgID, id uuid.UUID, plan account.Plan, change func(*vigil.Check) error) (vigil.Check, error)
	DeleteCheck(ctx context.Context, orgID, id uuid.UUID, match vigil.Precondition) (vigil.CheckEdit, error)
	Verified(ctx context.Context, orgID uuid.UUID) (bool, error)
	// InMaintenance returns those of the checks that are in maintenance now.
	InMaintenance(ctx context.Context, orgID uuid.UUID, checks ...uuid.UUID) (map[uuid.UUID]maintenance.Current, error)
	LiveRegions(ctx context.Context, silence time.Duration) (map[string][]vigil.CheckType, error)
	servedStore
	// LiveLocations returns the organization's locations from which an agent reports, each with the types
	// that its agents can probe.
	LiveLocations(ctx context.Context, orgID uuid.UUID) (map[string][]vigil.CheckType, error)
}

// Checks are the operations of checks, and the rules by which one is created and changed.
type Checks struct {
	store    checkStore
	Types    resource.CheckTypes
	Plans    resource.Plans
	Notifier *resource.Notifier
	mailer   accounts.Mailer // nil sends no mail
	Loads    *resource.Loads
	pings    *pings
	Now      func() time.Time
}

// Register registers the operations of checks.
func (c *Checks) Register(r *rest.Registrar) {
	c.registerList(r)
	c.registerBulk(r)
	rest.Register(r, rest.Operation{
		Method:     http.MethodPost,
		Path:       "/v1/checks",
		ID:         "create-check",
		Tag:        resource.TagChecks,
		Scope:      account.ScopeWrite,
		Status:     http.StatusCreated,
		Audit:      "check.create",
		Idempotent: true,
		Revisioned: true,
		Summary:    "Create a check",
		Description: "The check runs at once. Regions may be given by a cloud provider's name; the check shows their keys. " +
			"`rules` are created with it, or nothing is; then the audit log has an entry for the check and one for each rule. " +
			"While probing is late in one of the regions, the answer is 503 with Retry-After.",
		Errors: []int{http.StatusConflict, http.StatusForbidden, http.StatusServiceUnavailable},
		Judge:  c.judgeCreate,
	}, c.create)
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: "/v1/checks/{id}", ID: "get-check", Tag: resource.TagChecks, Resource: ResourceCheck, Revisioned: true,
		Summary: "Get a check",
	}, c.get)
	rest.Register(r, rest.Operation{
		Method:     http.MethodPut,
		Path:       "/v1/checks/{id}",
		ID:         "update-check",
		Tag:        resource.TagChecks,
		Scope:      account.ScopeWrite,
		Resource:   ResourceCheck,
		Revisioned: true,
		Audit:      "check.update",
		Summary:    "Update a check",
		Description: "Members that are left out stay as they are; `config` is replaced as a whole. A secret that is written as `***` is kept. " +
			"While probing is late in a region, a change that adds load there is answered with 503 and Retry-After.",
		Errors: []int{http.StatusConflict, http.StatusForbidden, http.StatusServiceUnavailable},
		Judge:  c.judgeUpdate,
	}, c.update)
	rest.Register(r, rest.Operation{
		Method: http.MethodDelete, Path: "/v1/checks/{id}", ID: "delete-check", Tag: resource.TagChecks, Scope: account.ScopeWrite,
		Status: http.StatusNoContent, Resource: ResourceCheck, Revisioned: true, Audit: "check.delete",
		Summary: "Delete a check and everything that belongs to it",
	}, c.delete)
}

func (c *Checks) get(ctx context.Context, in *rest.IDPath) (*rest.Answer[checkView], error) {
	check, err := findCheck(ctx, c.store, in.ID)
	if err != nil {
		return nil, err
	}
	return c.answer(ctx, check)
}

// findCheck reads a check of the caller's organization.
func findCheck(ctx context.Context, store checkReader, text string) (vigil.Check, error) {
	id, err := rest.ParseID(text, ResourceCheck)
	if err != nil {
		return vigil.Check{}, err
	}
	return store.Check(ctx, rest.CallerOf(ctx).Org.ID, id)
}

func (c *Checks) create(ctx context.Context, in *struct{ Body CheckCreate }) (*rest.Answer[checkView], error) {
	who := rest.CallerOf(ctx)
	plan := c.Plans.Of(who)
	check, rules, err := c.read(ctx, &in.Body)
	if err != nil {
		return nil, err
	}
	allow, err := c.admit(ctx, who, &check, plan)
	if err != nil {
		return nil, err
	}
	for i := range rules {
		rules[i].CheckID = check.ID
	}
	warnings := c.LiveRegions(ctx).Warnings(&vigil.Check{}, &check)
	rest.ShowRepeated(ctx, func(check vigil.Check) checkView {
		view := c.show(check)
		view.Warnings = warnings
		return view
	})
	check, err = c.store.CreateCheck(ctx, check, plan, allow, rules...)
	if err != nil {
		return nil, err
	}
	c.Notifier.ApplyLoops(ctx, check, nil)
	answer, err := c.answer(ctx, check)
	if err == nil {
		answer.Body.Data.Warnings = warnings
	}
	return answer, err
}

// admit completes a new check, as far as the database need not say whether it may be, and returns how
// many the caller may create.
func (c *Checks) admit(ctx context.Context, who *rest.Caller, check *vigil.Check, plan account.Plan) (account.Allowance, error) {
	if check.Enabled {
		if err := resource.Refuse(c.Loads.Overloaded(ctx), check.Regions...); err != nil {
			return account.Allowance{}, err
		}
	}
	var err error
	if check.ID, err = uuid.NewV7(); err != nil {
		return account.Allowance{}, err
	}
	rest.AuditResource(ctx, check.ID)
	check.OrgID = who.Org.ID
	verified, err := c.Verified(ctx, who)
	if err != nil {
		return account.Allowance{}, err
	}
	if !verified {
		check.ExpiresAt = new(c.Now().Add(resource.UnverifiedDays * 24 * time.Hour).UTC())
	}
	return c.Allowance(plan, verified), nil
}

// Verified reports whether an address of the caller's organization is verified.
func (c *Checks) Verified(ctx context.Context, who *rest.Caller) (bool, error) {
	if who.User.EmailVerified {
		return true, nil
	}
	return c.store.Verified(ctx, who.Org.ID)
}

// Allowance is how many checks the caller may create in an hour. Where no mail
// can be sent, no address can be verified, so nothing is enforced.
func (c *Checks) Allowance(plan account.Plan, verified bool) account.Allowance {
	switch {
	case c.mailer == nil || !c.mailer.Sends():
		return account.Allowance{CreationsPerHour: account.Unlimited}
	case verified:
		return account.Allowance{CreationsPerHour: plan.CreationsPerHourVerified}
	}
	return account.Allowance{CreationsPerHour: plan.CreationsPerHour}
}

type updateCheckInput struct {
	rest.IDPath
	Body checkUpdate
}

func (c *Checks) update(ctx context.Context, in *updateCheckInput) (*rest.Answer[checkView], error) {
	id, err := in.Parse(ResourceCheck)
	if err != nil {
		return nil, err
	}
	who := rest.CallerOf(ctx)
	plan := c.Plans.Of(who)
	wrong := in.Body.Clean(c.Places(ctx))
	var before vigil.Check
	overloaded := c.Loads.Overloaded(ctx)
	check, err := c.store.UpdateCheck(ctx, who.Org.ID, id, plan, func(check *vigil.Check) error {
		before = *check
		if err := rest.PreconditionOf(ctx).Check(ResourceCheck, check.Version); err != nil {
			return err
		}
		if err := rest.Together(wrong, c.Change(check, &in.Body.CheckMembers, plan)); err != nil {
			return err
		}
		return resource.Refuse(overloaded, resource.AddedLoad(&before, check)...)
	})
	if err != nil {
		return nil, err
	}
	if check.Revision != before.Revision {
		c.Notifier.ApplyLoops(ctx, check, before.Regions)
		c.Notifier.RefreshIncident(ctx, check.ID)
	}
	return c.answerWritten(ctx, before, check)
}

func (c *Checks) delete(ctx context.Context, in *rest.IDPath) (*struct{}, error) {
	id, err := in.Parse(ResourceCheck)
	if err != nil {
		return nil, err
	}
	edit, err := c.store.DeleteCheck(ctx, rest.CallerOf(ctx).Org.ID, id, rest.PreconditionOf(ctx))
	if err != nil {
		return nil, err
	}
	c.Notifier.StopLoops(ctx, id, edit.Stopped, 0)
	c.Notifier.RefreshIncident(ctx, id)
	c.Notifier.Send(ctx, edit.Deliveries)
	return nil, nil //nolint:nilnil // Huma's way to answer without a body
}
