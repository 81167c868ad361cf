// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"time"

	"github.com/vigil-monitor/vigil/api/accounts"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
)

// Store is what checks and what is about them need of the database.
type Store interface {
	RegionStore
	checkStore
	testStore
	tryStore
	resource.LoadStore
	resultStore
	checkRegionStore
	usageStore
	figureStore
	statusPageStore
	maintenanceStore
	pingStore
	pingKeyStore
	locationStore
	lateStore
	reportStore
}

// Deps is what checks need beside their store.
type Deps struct {
	Types    resource.CheckTypes
	Loops    resource.LoopWorkflows
	Plans    resource.Plans
	Notifier *resource.Notifier
	Mailer   accounts.Mailer // nil sends no mail
	Loads    *resource.Loads
	Links    resource.WorkflowLinks
	// PublicURL is where people reach this API, without a trailing slash.
	PublicURL string
	// HashPassword returns the hash of a password of a status page.
	HashPassword func(ctx context.Context, password string) (string, error)
	// LookupTXT reads TXT records; nil reads none.
	LookupTXT func(ctx context.Context, name string) ([]string, error)
	Now       func() time.Time
	// Files bounds how many files of CSV an organization has written at once, and Scrapes how many answers of /v1/metrics; see
	// NewScrapes.
	Files, Scrapes *resource.AtOnce
}

// Service is the part of the API about checks.
type Service struct {
	// Checks are the rules of checks, which an apply keeps too.
	Checks *Checks

	operations []resource.Operations
}

// New returns the part of the API about checks.
func New(store Store, d Deps) *Service {
	pings := &pings{store: store, checks: store, publicURL: d.PublicURL}
	checks := &Checks{
		store: store, Types: d.Types, Plans: d.Plans, Notifier: d.Notifier, mailer: d.Mailer, Loads: d.Loads, pings: pings, Now: d.Now,
	}
	runs := &checkRuns{store: store, loops: d.Loops, plans: d.Plans, loads: d.Loads}
	return &Service{Checks: checks, operations: []resource.Operations{
		newRegions(store, d.Types, d.Now),
		checkTypes{d.Types},
		checks,
		&results{store: store, now: d.Now, files: d.Files},
		&reports{store: store, now: d.Now, files: d.Files},
		runs,
		newTries(store, runs, d.Types, d.Plans, d.Now),
		&checkRegions{store: store, loops: d.Loops, links: d.Links},
		&usage{store: store, plans: d.Plans},
		&checkMetrics{store: store, usage: store, plans: d.Plans, limit: d.Scrapes},
		&statusPages{store: store, publicURL: d.PublicURL, hashPassword: d.HashPassword, lookupTXT: d.LookupTXT},
		&windows{store: store, now: d.Now},
		pings,
		&pingKeys{store: store, publicURL: d.PublicURL},
		&late{store: store}, &locations{store: store},
	}}
}

// Register registers the operations of checks.
func (s *Service) Register(r *rest.Registrar) { resource.RegisterAll(r, s.operations) }
