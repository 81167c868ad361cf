// SPDX-License-Identifier: Apache-2.0

package api

import (
	"time"

	"github.com/vigil-monitor/vigil/api/rest"
)

// checksStore is what checks and what is about them need of the database.
type checksStore interface {
	regionStore
	checkStore
	testStore
	tryStore
	loadStore
	resultStore
	checkRegionStore
	usageStore
	figureStore
	statusPageStore
	maintenanceStore
}

// checkDeps is what checks need beside their store.
type checkDeps struct {
	Types    checkTypes
	Loops    loopWorkflows
	Plans    plans
	Notifier *notifier
	Mailer   mailer // nil sends no mail
	Loads    *loads
	Links    workflowLinks
	// PublicURL is where people reach this API, without a trailing slash.
	PublicURL string
	Now       func() time.Time
}

// checkService is the part of the API about checks.
type checkService struct {
	// Checks are the rules of checks, which an apply keeps too.
	Checks *checks

	operations []operations
}

// newCheckService returns the part of the API about checks.
func newCheckService(store checksStore, d checkDeps) *checkService {
	checks := &checks{store: store, types: d.Types, plans: d.Plans, notifier: d.Notifier, mailer: d.Mailer, loads: d.Loads, now: d.Now}
	runs := &checkRuns{store: store, loops: d.Loops, plans: d.Plans, loads: d.Loads}
	return &checkService{Checks: checks, operations: []operations{
		newRegions(store, d.Now),
		checks,
		&results{store: store},
		runs,
		newTries(store, runs, d.Types, d.Plans, d.Now),
		&checkRegions{store: store, loops: d.Loops, links: d.Links},
		&usage{store: store, plans: d.Plans},
		&checkMetrics{store: store, usage: store, plans: d.Plans, limit: newAtOnce(metricsAtOnce, metricsBusy, metricsPause)},
		&statusPages{store: store, publicURL: d.PublicURL},
		&windows{store: store, now: d.Now},
	}}
}

// Register registers the operations of checks.
func (s *checkService) Register(r *rest.Registrar) { registerAll(r, s.operations) }
