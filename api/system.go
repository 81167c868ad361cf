// SPDX-License-Identifier: Apache-2.0

package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/checks"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
)

const (
	// interfaceVersion is the version that GET / reports (spec section 9).
	interfaceVersion = "v1"
	// readyDeadline bounds the checks of /ready.
	readyDeadline = 2 * time.Second
)

// SystemStore is what /ready needs of the database.
type SystemStore interface {
	Ready(ctx context.Context) error
	checks.RegionStore
	resource.LoadStore
}

type system struct {
	store    SystemStore
	temporal func(ctx context.Context) error // nil leaves Temporal out
	version  string
	loads    *resource.Loads
	targets  rest.PrivateTargets // nil: not shown
	cache    *resource.Cache[readiness]
}

// readyTTL is how long the answer of /ready is used: it needs no credential, and asks the
// database and Temporal.
const readyTTL = time.Second

// readiness is an answer of /ready.
type readiness struct {
	view readyView
	err  error // not ready
}

func newSystem(deps Deps, loads *resource.Loads) *system {
	return &system{
		store: deps.Stores.System, temporal: deps.Temporal, version: deps.Config.Version, loads: loads, targets: deps.PrivateTargets,
		cache: resource.NewCache[readiness](readyTTL, 1, deps.Now),
	}
}

type welcomeView struct {
	Message string `json:"message" example:"Vigil monitors what you point it at. See /docs."`
	Version string `json:"version" doc:"Version of the interface." example:"v1"`
	Status  string `json:"status" enum:"ok" example:"ok"`
	Build   string `json:"build" doc:"Version of the program." example:"v1.0.0"`
}

type healthView struct {
	Status string `json:"status" enum:"ok" example:"ok"`
}

type readyView struct {
	Status     string `json:"status" enum:"ready" example:"ready"`
	Database   string `json:"database" example:"ok"`
	Migrations string `json:"migrations" example:"ok"`
	Temporal   string `json:"temporal" example:"ok"`
	Regions    string `json:"regions" doc:"How many regions are probed: by a worker, or by agents that report." example:"33 of 33 online"`
	Probing    string `json:"probing" doc:"Whether probing keeps up: \"ok\", or the regions whose slots are late. A late region is no reason to take this process out of service: reads, acknowledgements and deletes go on." example:"ok"`

	PrivateTargets string `json:"private_targets,omitempty" doc:"Whether private addresses can be checked: \"open\", \"refused\", or why they are refused since a proxy was noticed." example:"refused"`
}

func (y *system) Register(r *rest.Registrar) {
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: "/", ID: "get-welcome", Tag: resource.TagSystem, Open: true,
		Summary: "Get service information",
	}, func(context.Context, *struct{}) (*rest.Answer[welcomeView], error) {
		return rest.NewAnswer(welcomeView{
			Message: "Vigil monitors what you point it at. See /docs.",
			Version: interfaceVersion, Status: "ok", Build: y.version,
		}), nil
	})
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: "/health", ID: "get-health", Tag: resource.TagSystem, Open: true,
		Summary: "Check that the process is alive",
	}, func(context.Context, *struct{}) (*rest.Answer[healthView], error) {
		return rest.NewAnswer(healthView{Status: "ok"}), nil
	})
	rest.Register(r, rest.Operation{
		Method: http.MethodGet, Path: "/ready", ID: "get-ready", Tag: resource.TagSystem, Open: true,
		Summary:     "Check that the service is ready",
		Description: "Checks the database, its migrations, Temporal and the regions. The details of a 503 name what is not ready.",
		Errors:      []int{http.StatusServiceUnavailable},
	}, y.ready)
}

// ready answers what was checked within the last second, or checks again.
func (y *system) ready(ctx context.Context, _ *struct{}) (*rest.Answer[readyView], error) {
	known, err := y.cache.Get(ctx, "", func(ctx context.Context) (readiness, error) {
		view, err := y.check(ctx)
		return readiness{view, err}, nil
	})
	if err = cmp.Or(err, known.err); err != nil {
		return nil, err
	}
	return rest.NewAnswer(known.view), nil
}

// describeTargets says whether private addresses can be checked.
func (y *system) describeTargets() string {
	switch {
	case y.targets == nil:
		return ""
	case y.targets.Closed() != "":
		return y.targets.Closed()
	case y.targets.Open():
		return "open"
	}
	return "refused"
}

// check checks everything that the platform needs.
func (y *system) check(ctx context.Context) (readyView, error) {
	ctx, cancel := context.WithTimeout(ctx, readyDeadline)
	defer cancel()
	const ok = "ok"
	view := readyView{Status: "ready", Database: ok, Migrations: ok, Temporal: ok, PrivateTargets: y.describeTargets()}
	ready := true
	if err := y.store.Ready(ctx); err != nil {
		ready = false
		if unmigrated(err) {
			view.Migrations = "not all applied"
		} else {
			view.Database, view.Migrations = "unreachable", "unknown"
		}
	}
	if y.temporal != nil {
		if err := y.temporal(ctx); err != nil {
			ready = false
			view.Temporal = "unreachable"
		}
	}
	online, worked := 0, false
	live, err := y.store.LiveRegions(ctx, resource.LeaseSilence)
	served, servedErr := y.store.ServedRegions(ctx)
	if err == nil && servedErr == nil {
		for _, key := range vigil.RegionKeys() { // a worker may serve what is none of them, such as the loops of locations
			_, works := live[key]
			able, byAgents := served[key]
			worked = worked || works // a platform whose agents are all away is ready for them
			if works && (!byAgents || able != nil) {
				online++
			}
		}
	}
	view.Regions = strconv.Itoa(online) + " of " + strconv.Itoa(len(vigil.Regions())) + " online"
	view.Probing = resource.DescribeLoad(y.loads.Overloaded(ctx))
	if ready && worked {
		return view, nil
	}
	details := map[string]any{
		"database": view.Database, "migrations": view.Migrations, "temporal": view.Temporal, "regions": view.Regions, "probing": view.Probing,
	}
	if view.PrivateTargets != "" {
		details["private_targets"] = view.PrivateTargets
	}
	return view, &vigil.Error{
		Code: vigil.CodeUnavailable, Message: "The platform is not ready; the details say which part.", Details: details,
	}
}

// unmigrated reports whether an error of store.Ready means that the database
// answers but lacks migrations, or even the table that lists them.
func unmigrated(err error) bool {
	known, ok := errors.AsType[*vigil.Error](err)
	if !ok || known.Cause == nil {
		return ok
	}
	var coded interface{ SQLState() string }
	return errors.As(known.Cause, &coded) && coded.SQLState() == "42P01" // undefined table
}
