// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/alerts"
	"github.com/vigil-monitor/vigil/api/checks"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/project"
)

const (
	// maxApplyBody is the largest body of an apply, in bytes.
	maxApplyBody = 8 << 20
	// maxApplyValues is how many values an apply may have: a check with a rule has about 20.
	maxApplyValues = 400_000
)

// Store changes the definitions of a project in one transaction.
type Store interface {
	Apply(
		ctx context.Context, r project.ApplyRequest, decide func(project.Inventory) (project.Changes, error),
	) (project.Applied, error)
}

// applies makes what is stored of a project equal to its files.
type applies struct {
	store    Store
	checks   *checks.Checks
	channels *alerts.Channels
	registry huma.Registry
}

// New returns the operations of files. checks and channels keep the rules of what they
// hold.
func New(store Store, checks *checks.Checks, channels *alerts.Channels) resource.Operations {
	return &applies{store: store, checks: checks, channels: channels}
}

// applyBody asks for a project to become what a document says.
type applyBody struct {
	Project  string            `json:"project" example:"shop" doc:"The project. It owns the definitions that it makes: managed_by has the tool apply and this project."`
	Document rest.Object       `json:"document" doc:"What the files of the project say together, after variables are replaced; its schema is at /v1/schemas/vigil.json."`
	Sources  map[string]string `json:"sources,omitempty" doc:"Where definitions come from, by their paths; the actions show it." example:"{\"checks.home\": \"monitoring/web.yaml:14\"}"`
	DryRun   bool              `json:"dry_run,omitempty" doc:"Find every error and every action, and change nothing. It needs the scope read only; then secrets are not compared."`
	Missing  project.Missing   `json:"missing,omitempty" enum:"keep,release,delete" default:"keep" doc:"What happens to definitions of the project that the document does not have: they stay, are no longer managed, or are deleted."`
	Expect   string            `json:"expect,omitempty" pattern:"^[0-9a-f]{32}$" doc:"The plan to carry out. When it is another one meanwhile, nothing changes and the answer is 409." example:"3d1f0c5be2a94e7d8b6055f17f3a91c2"`
	Adopt    map[string]string `json:"adopt,omitempty" doc:"Ids of definitions that nothing manages yet, by the paths under which the project takes them over." example:"{\"checks.api\": \"0191d2a7-6c1f-7000-8000-000000000001\"}"`
}

// applyResultView says what was done, or would be.
type applyResultView struct {
	Plan              string            `json:"plan" doc:"Identifies the actions, and the revisions of what they touch." example:"3d1f0c5be2a94e7d8b6055f17f3a91c2"`
	Applied           bool              `json:"applied" doc:"Whether it was done; false for a dry run."`
	Actions           []applyActionView `json:"actions" doc:"An action for each definition of the project."`
	ExecutionsPerHour applyBudgetView   `json:"executions_per_hour"`
}

type applyActionView struct {
	Kind      project.Kind       `json:"kind" enum:"channel,check,rule,status_page,maintenance,subscription"`
	Key       string             `json:"key" example:"home" doc:"The key in the project; that of a rule is check/rule."`
	ID        *uuid.UUID         `json:"id" format:"uuid" nullable:"true" doc:"Null for what a dry run would create."`
	Name      string             `json:"name"`
	Action    project.ActionKind `json:"action" enum:"create,change,restore,delete,release,leave,none" doc:"restore undoes what was changed outside of the files. leave: it is in no file any more, and stays."`
	Members   []memberChangeView `json:"members" doc:"The members that differ."`
	ChangedBy *string            `json:"changed_by" doc:"Who made the change that restore undoes; null where it is not known."`
	ChangedAt *time.Time         `json:"changed_at" doc:"When that was."`
	Source    string             `json:"source,omitempty" doc:"Where the definition comes from, as the request says."`
	Note      string             `json:"note,omitempty" doc:"What a person should know about it."`
	Warnings  []string           `json:"warnings,omitempty" doc:"What is accepted and may not be what is meant, as in the answer to a write of the definition alone. Each begins with the name of a member."`
}

type memberChangeView struct {
	Path    string `json:"path" example:"config.url"`
	From    any    `json:"from,omitempty" doc:"The value before; absent for none and for a secret."`
	To      any    `json:"to,omitempty" doc:"The value afterwards; absent for none and for a secret."`
	Secret  bool   `json:"secret,omitempty" doc:"The member is a secret, whose values are not shown."`
	Unknown bool   `json:"unknown,omitempty" doc:"Whether the secret differs was not compared, since the key lacks the scope write."`
}

type applyBudgetView struct {
	Before float64 `json:"before" doc:"Executions an hour that the enabled checks of the organization need."`
	After  float64 `json:"after" doc:"What they need afterwards."`
	Limit  *int64  `json:"limit" doc:"What the plan allows; null without a limit."`
}

func (a *applies) Register(r *rest.Registrar) {
	a.registry = r.API.OpenAPI().Components.Schemas
	rest.Register(r, rest.Operation{
		Method:     http.MethodPost,
		Computes:   true,
		Path:       "/v1/apply",
		ID:         "apply",
		Tag:        resource.TagApply,
		Scope:      account.ScopeRead,  // a dry run
		WriteScope: account.ScopeWrite, // see apply
		Audit:      "apply.run",
		Idempotent: true,
		MaxBody:    maxApplyBody,
		MaxValues:  maxApplyValues,
		Summary:    "Make a project equal to its files",
		Description: "Creates, changes and deletes the definitions of a project, all in one transaction: all of it, or nothing after an error. " +
			"The errors of the document are in `details.errors`, each with its path: 100 at most, and `details.more_errors` says how many more " +
			"there are. Definitions of other projects and tools, and those that nothing " +
			"manages, are not touched. A second apply of the same project waits for 30 s at most. The body may have 8 MiB. " +
			"It needs the scope write, a dry run only read.",
		Errors: []int{http.StatusConflict, http.StatusForbidden, http.StatusServiceUnavailable},
	}, a.apply)
}

func (a *applies) apply(ctx context.Context, in *struct{ Body applyBody }) (*rest.Answer[applyResultView], error) {
	who := rest.CallerOf(ctx)
	body := &in.Body
	lacks := who.Require(account.ScopeWrite)
	if !body.DryRun && lacks != nil {
		return nil, lacks
	}
	if !vigil.ValidProject(body.Project) {
		return nil, vigil.Invalid("project", "must have 1 to 63 letters, digits, '.', '_' and '-', such as shop")
	}
	verified, err := a.checks.Verified(ctx, who)
	if err != nil {
		return nil, err
	}
	plan := a.checks.Plans.Of(who)
	d := a.decider(ctx, body)
	d.hide, d.verified, d.plan, d.overloaded = lacks != nil, verified, plan, a.checks.Loads.Overloaded(ctx)
	d.live, d.places = a.checks.LiveRegions(ctx), a.checks.Places(ctx)
	request := d.request()
	request.Plan, request.Allow, request.DryRun = plan, a.checks.Allowance(plan, verified), body.DryRun
	show := func(applied project.Applied) applyResultView { return d.show(applied, !body.DryRun) }
	if !body.DryRun {
		rest.ShowRepeated(ctx, show)
	}
	applied, err := a.store.Apply(ctx, request, d.decide)
	if err != nil {
		return nil, d.explain(err)
	}
	if !body.DryRun {
		a.checks.Notifier.Changed(ctx, applied.Checks)
		for _, channel := range d.mailed {
			a.channels.AskRecipients(ctx, channel)
		}
	}
	return rest.NewAnswer(show(applied)), nil
}

// show returns the answer.
func (d *decider) show(applied project.Applied, done bool) applyResultView {
	view := applyResultView{
		Plan: d.set.Plan, Applied: done, Actions: make([]applyActionView, len(d.set.Actions)),
		ExecutionsPerHour: applyBudgetView{Before: applied.ExecutionsBefore, After: applied.ExecutionsAfter},
	}
	if d.plan.ExecutionsPerHour != account.Unlimited {
		view.ExecutionsPerHour.Limit = &d.plan.ExecutionsPerHour
	}
	for i, action := range d.set.Actions {
		id := action.ID
		if id == uuid.Nil && done {
			id = d.ids[action.Kind][action.Key]
		}
		one := applyActionView{
			Kind: action.Kind, Key: action.Key, ID: vigil.NilIfZero(id), Name: action.Name, Action: action.Action,
			Members: make([]memberChangeView, len(action.Members)), ChangedBy: vigil.NilIfZero(action.ChangedBy),
			Source: d.body.Sources[project.PathOf(action.Kind, action.Key)], Note: action.Note, Warnings: action.Warnings,
		}
		if !action.ChangedAt.IsZero() {
			one.ChangedAt = &action.ChangedAt
		}
		for j, member := range action.Members {
			one.Members[j] = memberChangeView(member)
		}
		view.Actions[i] = one
	}
	return view
}
