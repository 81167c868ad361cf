package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"vigil"
)

const (
	tagSystem = "System"
	// interfaceVersion is the version that GET / reports (spec section 9).
	interfaceVersion = "v1"
	// readyDeadline bounds each question that /ready asks.
	readyDeadline = 2 * time.Second
)

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
	Regions    string `json:"regions" doc:"How many regions have a worker." example:"33 of 33 online"`
}

func (s *Server) registerSystem() {
	register(s, operation{
		method: http.MethodGet, path: "/", id: "get-welcome", tag: tagSystem, open: true,
		summary: "Say which interface this is",
	}, func(context.Context, *struct{}) (*answerOf[welcomeView], error) {
		return answering(welcomeView{
			Message: "Vigil monitors what you point it at. See /docs.",
			Version: interfaceVersion, Status: "ok", Build: s.Config.Version,
		}), nil
	})
	register(s, operation{
		method: http.MethodGet, path: "/health", id: "get-health", tag: tagSystem, open: true,
		summary: "Say that this process answers",
	}, func(context.Context, *struct{}) (*answerOf[healthView], error) {
		return answering(healthView{Status: "ok"}), nil
	})
	register(s, operation{
		method: http.MethodGet, path: "/ready", id: "get-ready", tag: tagSystem, open: true,
		summary:     "Say whether everything behind this process answers",
		description: "Asks the database, its migrations, Temporal and the regions. The details of a 503 say which of them is not ready.",
		errors:      []int{http.StatusServiceUnavailable},
	}, s.ready)
}

// ready asks everything that the platform needs.
func (s *Server) ready(ctx context.Context, _ *struct{}) (*answerOf[readyView], error) {
	ctx, cancel := context.WithTimeout(ctx, readyDeadline)
	defer cancel()
	const ok = "ok"
	view := readyView{Status: "ready", Database: ok, Migrations: ok, Temporal: ok}
	ready := true
	if err := s.Store.Ready(ctx); err != nil {
		ready = false
		if unmigrated(err) {
			view.Migrations = "not all applied"
		} else {
			view.Database, view.Migrations = "unreachable", "unknown"
		}
	}
	if s.Temporal != nil {
		if err := s.Temporal(ctx); err != nil {
			ready = false
			view.Temporal = "unreachable"
		}
	}
	online := 0
	if live, err := s.Store.LiveRegions(ctx, leaseSilence); err == nil {
		online = len(live)
	}
	view.Regions = strconv.Itoa(online) + " of " + strconv.Itoa(len(vigil.Regions())) + " online"
	if ready && online > 0 {
		return answering(view), nil
	}
	return nil, &vigil.Error{
		Code:    vigil.CodeUnavailable,
		Message: "The platform is not ready; the details say which part.",
		Details: map[string]any{
			"database": view.Database, "migrations": view.Migrations, "temporal": view.Temporal, "regions": view.Regions,
		},
	}
}

// unmigrated reports whether an error of store.Ready means that the database
// answers but lacks migrations, or even the table that lists them.
func unmigrated(err error) bool {
	told, ok := errors.AsType[*vigil.Error](err)
	if !ok || told.Cause == nil {
		return ok
	}
	var coded interface{ SQLState() string }
	return errors.As(told.Cause, &coded) && coded.SQLState() == "42P01" // undefined table
}
