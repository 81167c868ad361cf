// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
)

// checkReader reads one check.
type checkReader interface {
	Check(ctx context.Context, orgID, id uuid.UUID) (vigil.Check, error)
}

// testStore is what tests by hand need of the database.
type testStore interface {
	checkReader
	placeStore
	// BeginTest counts a running test of an organization in a region until EndTest, or for a
	// duration. It does not admit more than limit at a time, over all processes.
	BeginTest(ctx context.Context, orgID, id uuid.UUID, region string, limit int, longest time.Duration) (admitted bool, err error)
	EndTest(ctx context.Context, orgID, id uuid.UUID) error
}

const (
	// testLongest is how long a test of one attempt counts at most, as when this process
	// dies.
	testLongest = 90 * time.Second
	// testRetry is the Retry-After, in seconds, when too many tests run.
	testRetry = 2
)

// checkRuns runs checks on request.
type checkRuns struct {
	store testStore
	loads *resource.Loads
	loops resource.LoopWorkflows
	plans resource.Plans
}

func (c *checkRuns) Register(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method:     http.MethodPost,
		Path:       "/v1/checks/{id}/test",
		ID:         "test-check",
		Tag:        resource.TagResults,
		Scope:      account.ScopeRespond,
		Resource:   ResourceCheck,
		Audit:      "check.test",
		Idempotent: true,
		Summary:    "Run a check now",
		Description: "Runs in the check's first region, or in `region`. On an enabled check it counts as an execution, and a failure is tried " +
			"again as the check's `retry` says. " +
			"With `dry_run`, and on a disabled check, the target is probed once, nothing is stored and the metadata has `test: true`. " +
			"An organization may run a few tests at the same time, 5, 20 or 50 by its tier; more are answered with 429. " +
			"A request that is given up ends its test.",
		Errors: []int{http.StatusTooManyRequests, http.StatusServiceUnavailable},
	}, c.run)
}

type testInput struct {
	rest.IDPath
	Region string `query:"region" doc:"Where to run, by the key or an alias of a region, or the key of a location. Without dry_run it must be one of the check's regions."`
	DryRun bool   `query:"dry_run" doc:"Do not store or count the result."`
}

func (c *checkRuns) run(ctx context.Context, in *testInput) (*rest.Answer[ResultView], error) {
	check, err := findCheck(ctx, c.store, in.ID)
	if err != nil {
		return nil, err
	}
	if check.Type == vigil.TypeHeartbeat {
		return nil, errNotProbed()
	}
	dryRun := in.DryRun || !check.Enabled
	region := check.Regions[0]
	if in.Region != "" {
		if region, err = c.region(ctx, check, in.Region, dryRun); err != nil {
			return nil, err
		}
	}
	if err := resource.Refuse(c.loads.Overloaded(ctx), region); err != nil {
		return nil, err
	}
	result, err := c.test(ctx, check, region, dryRun)
	if err != nil {
		return nil, err
	}
	if dryRun {
		result.Metadata = maps.Clone(result.Metadata)
		if result.Metadata == nil {
			result.Metadata = make(map[string]any)
		}
		result.Metadata["test"] = true
	}
	return rest.NewAnswer(ShowResult(result)), nil
}

// test runs a test unless too many of the organization's run.
func (c *checkRuns) test(ctx context.Context, check vigil.Check, region string, dryRun bool) (vigil.Result, error) {
	id, limit := uuid.New(), c.plans.Of(rest.CallerOf(ctx)).TestsInFlight
	longest := testLongest
	if !dryRun {
		longest += check.Retry.Deadline(time.Minute) - time.Minute // its other attempts
	}
	admitted, err := c.store.BeginTest(ctx, check.OrgID, id, region, limit, longest)
	if err != nil {
		return vigil.Result{}, err
	}
	if !admitted {
		return vigil.Result{}, rest.ErrTooMany(fmt.Sprintf("%d tests of the organization run already", limit), testRetry)
	}
	defer func() { _ = c.store.EndTest(context.WithoutCancel(ctx), check.OrgID, id) }() // else it ends by itself
	return c.loops.Test(ctx, check, region, dryRun)
}

// region is where a test runs that names its region. A result that is kept
// must belong to one of the check's regions; a dry run may look from any region
// of the plan.
func (c *checkRuns) region(ctx context.Context, check vigil.Check, name string, dryRun bool) (string, error) {
	key, err := placesOf(ctx, c.store).key("region", name)
	if err != nil {
		return "", err
	}
	if slices.Contains(check.Regions, key) {
		return key, nil
	}
	if !dryRun {
		return "", vigil.Invalid("region", "is not one of the check's regions (%s); add dry_run=true to try another",
			strings.Join(check.Regions, ", "))
	}
	return key, permitRegion("region", key, c.plans.Of(rest.CallerOf(ctx)))
}
