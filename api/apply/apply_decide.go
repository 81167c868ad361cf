// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/checks"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/channelhealth"
	"github.com/vigil-monitor/vigil/internal/project"
)

// decider turns a document and what is stored into a changeset and its edits.
type decider struct {
	applies  *applies
	ctx      context.Context //nolint:containedctx // of the one request that it decides
	body     *applyBody
	document project.Document
	wanted   []project.Wanted

	hide       bool // the caller may not compare secrets
	verified   bool
	plan       account.Plan
	overloaded map[string]time.Duration
	live       checks.LiveRegions
	places     *checks.Places

	problems []project.Problem
	limited  int // of the problems, how many are about the plan
	stored   *storedProject
	// ids are those of the document's definitions, by kind and key.
	ids     map[project.Kind]map[string]uuid.UUID
	pairs   []pairing
	set     project.Changeset
	changes project.Changes
	mailed  []vigil.Channel // that were created or changed
	// fallbacks are those of the channels of the document.
	fallbacks map[uuid.UUID]uuid.UUID
	slugs     map[string]string
	labels    map[uuid.UUID]string                  // of references, see label
	known     map[project.Kind]map[uuid.UUID]string // names, see names
}

// pairing is a pair with what stores its edit.
type pairing struct {
	project.Pair
	store func(members []string, action project.ActionKind)
}

func (a *applies) decider(ctx context.Context, body *applyBody) *decider {
	d := &decider{
		applies: a, ctx: ctx, body: body, ids: make(map[project.Kind]map[string]uuid.UUID), slugs: make(map[string]string),
	}
	d.document, d.problems = project.ReadDocument(body.Document)
	if d.document.Project != "" && d.document.Project != body.Project {
		d.problem("project", "is not the project of the request")
	}
	wanted, found := d.document.Wanted()
	d.wanted, d.problems = wanted, append(d.problems, found...)
	for _, one := range wanted {
		if d.ids[one.Kind] == nil {
			d.ids[one.Kind] = make(map[string]uuid.UUID)
		}
		d.ids[one.Kind][one.Key] = uuid.Nil
	}
	return d
}

func (d *decider) problem(path, format string, args ...any) {
	if len(d.problems) >= mostCollected {
		d.document.MoreProblems++
		return
	}
	d.problems = append(d.problems, project.Problem{Path: vigil.MemberPath(path), Message: fmt.Sprintf(format, args...)})
}

// fault adds an error about a definition. One about its members names them by their path.
func (d *decider) fault(path string, err error) {
	message := vigil.ErrorMessage(err)
	if member := memberOf(err); member != "" {
		message = strings.TrimPrefix(message, member+": ")
		path += "." + member
	}
	if vigil.ErrorCode(err) == vigil.CodePlanLimit {
		d.limited++
	}
	d.problem(path, "%s", message)
}

func memberOf(err error) string {
	known, ok := err.(*vigil.Error) //nolint:errorlint // made by the functions that read members, not wrapped
	if !ok {
		return ""
	}
	member, _ := known.Details["member"].(string)
	return member
}

// request says what to read of the database.
func (d *decider) request() project.ApplyRequest {
	r := project.ApplyRequest{
		OrgID: d.caller().Org.ID, Project: d.body.Project, Names: make(map[project.Kind][]string), IDs: make(map[project.Kind][]uuid.UUID),
	}
	refer := func(kind project.Kind, text string) {
		if ref, err := project.ParseReference(text); err == nil {
			if ref.Name != "" {
				r.Names[kind] = append(r.Names[kind], ref.Name)
			}
			if ref.ID != uuid.Nil {
				r.IDs[kind] = append(r.IDs[kind], ref.ID)
			}
		}
	}
	for _, one := range d.wanted {
		name, _ := one.Members["name"].(string)
		switch one.Kind {
		case project.KindChannel, project.KindCheck:
			r.Names[one.Kind] = append(r.Names[one.Kind], name)
			if text, ok := one.Members[memberFallback].(string); ok {
				refer(project.KindChannel, text)
			}
			if text, ok := one.Members[channelhealth.MemberFallback].(string); ok {
				refer(project.KindChannel, "id:"+text)
			}
		case project.KindRule:
			for _, text := range texts(one.Members[memberChannels]) {
				refer(project.KindChannel, text)
			}
		case project.KindStatusPage:
			if slug, ok := one.Members["slug"].(string); ok {
				r.Slugs = append(r.Slugs, slug)
			}
			for _, check := range pageReferences(one.Members) {
				refer(project.KindCheck, check)
			}
		case project.KindMaintenance:
			for _, check := range namedReferences(one.Members["scope"]) {
				refer(project.KindCheck, check)
			}
		case project.KindSubscription:
			channels, checks := subscriptionReferences(one.Members)
			for _, channel := range channels {
				refer(project.KindChannel, channel)
			}
			for _, check := range checks {
				refer(project.KindCheck, check)
			}
		}
	}
	for path, text := range d.body.Adopt {
		kind, _, ok := project.ParsePath(path)
		if id, err := uuid.Parse(text); ok && err == nil {
			r.IDs[kind] = append(r.IDs[kind], id)
		}
	}
	return r
}

// texts returns the strings of a list.
func texts(list any) []string {
	items, _ := list.([]any)
	var found []string
	for _, item := range items {
		if text, ok := item.(string); ok {
			found = append(found, text)
		}
	}
	return found
}

// decide is called with what is stored, in the transaction.
func (d *decider) decide(inventory project.Inventory) (project.Changes, error) {
	d.stored = newStoredProject(inventory, d.body.Project)
	d.move()
	d.adopt()
	if err := d.nameChannels(); err != nil {
		return project.Changes{}, err
	}
	for i := range d.wanted {
		if err := d.ctx.Err(); err != nil {
			return project.Changes{}, err // who asked has left
		}
		if err := d.want(&d.wanted[i]); err != nil {
			return project.Changes{}, err
		}
	}
	d.missing()
	d.fallbackCircles()
	if len(d.problems) > 0 {
		return project.Changes{}, d.invalid()
	}
	pairs := make([]project.Pair, len(d.pairs))
	for i := range d.pairs {
		pairs[i] = d.pairs[i].Pair
	}
	d.set = project.NewChangeset(pairs, project.ChangesetOptions{Project: d.body.Project, Missing: d.body.Missing, HideSecrets: d.hide})
	d.edits()
	d.warn()
	if err := d.channelsInUse(); err != nil {
		return project.Changes{}, err
	}
	if d.body.Expect != "" && d.body.Expect != d.set.Plan {
		view := d.show(project.Applied{}, false)
		err := vigil.Errorf(vigil.CodeConflict,
			"The plan %s does not hold any more: something has changed since it was made, and the plan is %s now. Nothing was changed.",
			d.body.Expect, d.set.Plan)
		err.Details = map[string]any{"plan": d.set.Plan, "actions": view.Actions}
		return project.Changes{}, err
	}
	return d.changes, nil
}

// want pairs a definition of the document with what is stored of it.
func (d *decider) want(w *project.Wanted) error {
	switch w.Kind {
	case project.KindChannel:
		return d.wantChannel(w)
	case project.KindCheck:
		return d.wantCheck(w)
	case project.KindRule:
		return d.wantRule(w)
	case project.KindStatusPage:
		return d.wantPage(w)
	case project.KindMaintenance:
		return d.wantWindow(w)
	case project.KindSubscription:
		return d.wantSubscription(w)
	}
	return nil
}

// edits turns the actions into edits.
func (d *decider) edits() {
	d.changes.Current = make(map[project.Kind][]uuid.UUID)
	for i := range d.set.Actions {
		action := &d.set.Actions[i]
		if d.pairs[i].Wanted != nil && d.pairs[i].Stored != nil {
			d.changes.Current[action.Kind] = append(d.changes.Current[action.Kind], action.ID)
		}
		switch action.Action {
		case project.ActionNone, project.ActionLeave:
			continue
		case project.ActionRestore:
			outside := d.stored.inventory.Outside[action.ID]
			action.ChangedBy, action.ChangedAt = outside.By, outside.At
		case project.ActionCreate, project.ActionChange, project.ActionDelete, project.ActionRelease:
		}
		d.pairs[i].store(action.MemberNames(), action.Action)
	}
}

// missing pairs what the document does not have any more.
func (d *decider) missing() {
	for _, kind := range []project.Kind{
		project.KindRule, project.KindStatusPage, project.KindMaintenance, project.KindSubscription, project.KindCheck, project.KindChannel,
	} {
		for _, key := range slices.Sorted(maps.Keys(d.stored.own[kind])) {
			if _, wanted := d.ids[kind][key]; wanted {
				continue
			}
			if check, _, _ := strings.Cut(key, "/"); kind == project.KindRule && d.body.Missing != project.MissingRelease {
				_, stays := d.ids[project.KindCheck][check]
				if _, stored := d.stored.own[project.KindCheck][check]; stored && !stays {
					continue // it shares the fate of its check
				}
			}
			d.miss(kind, key, d.stored.own[kind][key])
		}
	}
}

const (
	// mostCollected is how many problems are kept while a document is judged, and mostListed
	// how many of them the answer lists.
	mostCollected = 2000
	mostListed    = 100
)

// invalid is the error about what is wrong with the document: it lists the first mistakes by
// their paths, and says how many more there are.
func (d *decider) invalid() error {
	slices.SortStableFunc(d.problems, func(a, b project.Problem) int { return strings.Compare(a.Path, b.Path) })
	first, more := d.problems[0], ""
	all := len(d.problems) + d.document.MoreProblems
	if all > 1 {
		more = fmt.Sprintf(" (and %d more)", all-1)
	}
	code := vigil.CodeInvalid
	if d.limited == len(d.problems) {
		code = vigil.CodePlanLimit
	}
	sentence := first.Message
	if first.Path != "" {
		sentence = first.Path + ": " + sentence
	}
	listed := d.problems[:min(len(d.problems), mostListed)]
	details := map[string]any{"member": "document." + first.Path, "errors": listed}
	if all > len(listed) {
		details["more_errors"] = all - len(listed)
	}
	return &vigil.Error{Code: code, Message: sentence + more, Details: details}
}

// explain adds to an error about all definitions together what the others have.
func (d *decider) explain(err error) error {
	known, ok := err.(*vigil.Error) //nolint:errorlint // storage returns them as they are
	if !ok || known.Code != vigil.CodePlanLimit || known.Details["errors"] != nil {
		return err
	}
	details := maps.Clone(known.Details)
	details["errors"] = []project.Problem{{Message: known.Message}}
	return &vigil.Error{Code: known.Code, Message: known.Message, Details: details, Cause: known.Cause}
}
