// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
)

const (
	triesPerMinute = 60
	// tryLanes is how many regions of a try probe at the same time. Each counts as a test by
	// hand.
	tryLanes = 4
	// tryInterval is the interval that a config is judged by when it is tried.
	tryInterval = time.Minute
)

// tryStore is what tries need of the database.
type tryStore interface {
	placeStore
	// BeginTrial makes a check that is not saved known to the workers until EndTrial.
	BeginTrial(ctx context.Context, check vigil.Check, longest time.Duration) error
	EndTrial(ctx context.Context, id uuid.UUID) error
}

// tries probes with configs that are not saved.
type tries struct {
	runs   *checkRuns
	store  tryStore
	types  resource.CheckTypes
	plans  resource.Plans
	window *rest.RateWindow
	now    func() time.Time
}

// newTries returns the tries of checks that are not saved.
func newTries(store tryStore, runs *checkRuns, types resource.CheckTypes, plans resource.Plans, now func() time.Time) *tries {
	return &tries{
		runs: runs, store: store, types: types, plans: plans,
		window: rest.NewRateWindow(triesPerMinute, time.Minute, now), now: now,
	}
}

// tryBody is a config to try.
type tryBody struct {
	Type    vigil.CheckType `json:"type" doc:"How the target is probed." example:"https"`
	Config  rest.Object     `json:"config" doc:"What is probed; its members depend on the type."`
	Regions []string        `json:"regions,omitempty" minItems:"1" doc:"Keys or aliases of the regions that probe, and keys of locations; without it, the default region."`
}

func (c *tries) Register(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method: http.MethodPost, Path: "/v1/checks/try", ID: "try-check", Tag: resource.TagResults, Scope: account.ScopeWrite,
		Audit: "check.try", Summary: "Try a config without saving it",
		Description: "Probes once from each region and answers with the results, in the order of the regions. Nothing is stored: the " +
			"results have no check, and `test: true` in their metadata. A region whose worker does not answer has a result that says so, " +
			"with `unavailable: true`. An organization may try 60 configs a minute, and each region counts as a running test.",
		Errors: []int{http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable},
	}, c.try)
}

func (c *tries) try(ctx context.Context, in *struct{ Body tryBody }) (*rest.Listing[ResultView], error) {
	who := rest.CallerOf(ctx)
	check, err := c.parse(placesOf(ctx, c.store), &in.Body, c.plans.Of(who))
	if err != nil {
		return nil, err
	}
	check.OrgID = who.Org.ID
	if wait := c.window.Count(who.Org.ID.String()); wait > 0 {
		return nil, rest.ErrTooMany("The organization tries too many configs", wait)
	}
	if err := resource.Refuse(c.runs.loads.Overloaded(ctx), check.Regions...); err != nil {
		return nil, err
	}
	if err := c.store.BeginTrial(ctx, check, testLongest); err != nil {
		return nil, err
	}
	defer func() { _ = c.store.EndTrial(context.WithoutCancel(ctx), check.ID) }() // else it ends after testLongest
	found, err := c.probe(ctx, check)
	if err != nil {
		return nil, err
	}
	return rest.NewListing(found, len(found), func(view ResultView) ResultView { return view }), nil
}

// parse makes the check that a body describes.
func (c *tries) parse(places *Places, in *tryBody, plan account.Plan) (vigil.Check, error) {
	if in.Type == vigil.TypeHeartbeat {
		return vigil.Check{}, errNotProbed()
	}
	names := in.Regions
	if names == nil {
		names = []string{vigil.DefaultRegionAlias}
	}
	regions, err := places.probed(names)
	if err != nil {
		return vigil.Check{}, err
	}
	if err := permitRegions(regions, plan); err != nil {
		return vigil.Check{}, err
	}
	check := vigil.Check{
		ID: uuid.New(), Name: "a config that is tried", Type: in.Type, Config: json.RawMessage(in.Config),
		Interval: max(tryInterval, plan.MinInterval), Regions: regions, Enabled: true,
	}
	// Nothing is stored, so there is no secret that *** could stand for.
	if check.Config, err = c.types.Secrets(check.Type).Keep(check.Config, nil); err != nil {
		return vigil.Check{}, err
	}
	parsed, err := c.types.Parse(check.Type, check.Config, check.Interval)
	if err != nil {
		return vigil.Check{}, err
	}
	check.Target = parsed.Target()
	return check, nil
}

// probe runs the check in its regions, a few at a time. When no region answers, it returns
// the error of the first one.
func (c *tries) probe(ctx context.Context, check vigil.Check) ([]ResultView, error) {
	results, errs := make([]ResultView, len(check.Regions)), make([]error, len(check.Regions))
	lanes := make(chan struct{}, tryLanes)
	var running sync.WaitGroup
	for i, region := range check.Regions {
		lanes <- struct{}{}
		running.Go(func() {
			defer func() { <-lanes }()
			var result vigil.Result
			if result, errs[i] = c.runs.test(ctx, check, region, true); errs[i] == nil {
				results[i] = showTried(result)
			}
		})
	}
	running.Wait()
	failed := 0
	for i, err := range errs {
		switch {
		case err == nil:
		case vigil.ErrorCode(err) != vigil.CodeUnavailable && vigil.ErrorCode(err) != vigil.CodeRateLimited:
			return nil, err
		default:
			failed++
			message := vigil.ErrorMessage(err)
			results[i] = ResultView{
				Region: check.Regions[i], Time: c.now().UTC(), ErrorMessage: &message, Metadata: map[string]any{"test": true, "unavailable": true},
			}
		}
	}
	if failed == len(errs) {
		return nil, errs[0]
	}
	return results, nil
}

// showTried shows a result of a config that is not saved. Its ids name nothing.
func showTried(r vigil.Result) ResultView {
	r.ID, r.CheckID = uuid.Nil, uuid.Nil
	return ShowResult(r)
}
