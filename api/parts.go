// SPDX-License-Identifier: Apache-2.0

package api

import (
	"time"

	"github.com/vigil-monitor/vigil/api/accounts"
	"github.com/vigil-monitor/vigil/api/alerts"
	"github.com/vigil-monitor/vigil/api/apply"
	"github.com/vigil-monitor/vigil/api/backtests"
	"github.com/vigil-monitor/vigil/api/checks"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
)

// Files of CSV and reports read much: this many of an organization are made at a time in a process.
const (
	filesAtOnce = 2
	filesPause  = 5 // seconds
	filesBusy   = "Two reports or files of the organization are being made"
)

// parts are what resources share, whichever database they read.
type parts struct {
	Deps

	limits    resource.Plans
	links     resource.WorkflowLinks
	notify    *resource.Notifier
	addresses *rest.RateWindow
	loads     *resource.Loads
	files     *resource.AtOnce
	scrapes   *resource.AtOnce
	tasks     *tasks
}

// tasks are what requests leave running behind them.
type tasks struct{ background, changes, mails *resource.Tasks }

// newParts returns what the resources of an API share.
func newParts(deps Deps, tasks *tasks) *parts {
	config := deps.Config
	p := &parts{
		Deps: deps, tasks: tasks,
		limits:    resource.Plans{EnterpriseMinInterval: config.EnterpriseMinInterval, EnterpriseRate: config.EnterpriseRate},
		links:     resource.WorkflowLinks{UIURL: config.TemporalUIURL, Namespace: config.TemporalNamespace},
		notify:    resource.NewNotifier(deps.Stores.Loops, deps.Loops, deps.Incidents, tasks.changes, deps.Now),
		addresses: rest.NewRateWindow(config.AddressRate, time.Minute, deps.Now),
		loads:     resource.NewLoads(deps.Stores.System, deps.Now),
		files:     resource.NewAtOnce(filesAtOnce, filesBusy, filesPause),
		scrapes:   checks.NewScrapes(),
	}
	if deps.PrivateTargets != nil {
		p.addresses.Unless(deps.PrivateTargets.Open)
	}
	return p
}

// resources are the services of the API that belong to organizations.
type resources struct {
	accounts  *accounts.Service
	checks    *checks.Service
	alerts    *alerts.Service
	backtests resource.Operations
	apply     resource.Operations
}

// on returns the resources of a database.
func (p *parts) on(stores Stores) resources {
	config := p.Config
	account := accounts.New(stores.Accounts, accounts.Deps{
		Mailer: p.Mailer, Background: p.tasks.background, Mails: p.tasks.mails, Addresses: p.addresses, PrivateTargets: p.PrivateTargets,
		Now: p.Now, PublicURL: config.PublicURL, SignupTier: config.SignupTier, SigningKey: config.SigningKey,
		OlderSigningKeys: config.OlderSigningKeys, UnverifiedPerAddress: config.UnverifiedPerAddress, UnverifiedTotal: config.UnverifiedTotal,
	})
	checking := checks.New(stores.Checks, checks.Deps{
		Types: p.Probes, Loops: p.Loops, Plans: p.limits, Notifier: p.notify, Mailer: p.Mailer, Loads: p.loads, Links: p.links,
		PublicURL: config.PublicURL, HashPassword: account.HashPassword, LookupTXT: p.LookupTXT, Now: p.Now, Files: p.files, Scrapes: p.scrapes,
	})
	alerting := alerts.New(stores.Alerts, alerts.Deps{
		Channels:         p.Channels,
		Incidents:        p.Incidents,
		Notifier:         p.notify,
		Plans:            p.limits,
		Mails:            p.tasks.mails,
		Links:            p.links,
		Recipients:       recipientsOf(p.Deps, stores),
		PublicURL:        config.PublicURL,
		DeliverySchedule: config.DeliverySchedule,
		Now:              p.Now,
		Files:            p.files,
	})
	return resources{
		accounts: account, checks: checking, alerts: alerting,
		backtests: backtests.New(stores.Backtests, p.Probes, p.Now),
		apply:     apply.New(stores.Apply, checking.Checks, alerting.Channels),
	}
}

// list returns the resources in the order of the document.
func (r *resources) list() []resource.Operations {
	return []resource.Operations{r.accounts, r.checks, r.alerts, r.backtests, r.apply}
}

// recipientsOf returns the recipients of mail, nil where mail does not leave the machine.
func recipientsOf(deps Deps, stores Stores) accounts.RecipientStore {
	if deps.Mailer == nil || !deps.Mailer.Sends() {
		return nil
	}
	return stores.Accounts
}
