// SPDX-License-Identifier: Apache-2.0

package api

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/vigil-monitor/vigil/api/accounts"
	"github.com/vigil-monitor/vigil/api/agents"
	"github.com/vigil-monitor/vigil/api/alerts"
	"github.com/vigil-monitor/vigil/api/apply"
	"github.com/vigil-monitor/vigil/api/backtests"
	"github.com/vigil-monitor/vigil/api/checks"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/api/stream"
	"github.com/vigil-monitor/vigil/internal/account"
)

// Files of CSV and reports read much: this many of an organization are made at a time in a process.
const (
	filesAtOnce = 2
	filesPause  = 5 // seconds
	filesBusy   = "Two reports or files of the organization are being made"
)

// Server is the HTTP interface. It is safe for concurrent use.
type Server struct {
	routes    *resource.Routes
	registrar *rest.Registrar
	handler   http.Handler

	hub        *stream.Hub
	background *resource.Tasks
	changes    *resource.Tasks // of workflows
	mails      *resource.Tasks
	pages      *accounts.Pages
	codec      *codecEndpoint // nil: none
	types      types
	accounts   *accounts.Service
	agents     *agents.Service
	outside    func(http.Handler) http.Handler // see Guard
	limiter    *rest.Limiter
	rateOf     func(account.Tier) int64 // requests of an organization in a window
	// limited limits how often an address reads what is for the public.
	limited func(http.HandlerFunc) http.HandlerFunc
}

// New assembles the API. Call Close when no request is in flight any more.
func New(deps Deps) (*Server, error) {
	if err := deps.validate(); err != nil {
		return nil, err
	}
	s := assemble(deps)
	if err := s.pages.Serve(s.routes); err != nil {
		return nil, err
	}
	newAcknowledging(deps).serve(s.routes, s.pages)
	if s.codec != nil {
		s.codec.serve(s.routes, s.pages)
	}
	if err := s.serveDocument(); err != nil {
		return nil, err
	}
	return s, nil
}

// newRegistrar returns a registrar without guards.
func newRegistrar(deps Deps, mux *http.ServeMux) *rest.Registrar {
	note := func(ctx context.Context) error { return deps.Stores.Audit.RecordAudit(ctx) }
	return &rest.Registrar{API: newAPI(mux), Repeats: deps.Stores.Repeats, Shares: deps.Shares, Note: note}
}

// assemble registers every operation.
func assemble(deps Deps) *Server {
	config, stores := deps.Config, deps.Stores
	mux := http.NewServeMux()
	s := &Server{
		routes: &resource.Routes{Mux: mux}, types: types{checks: deps.Probes, channels: deps.Channels},
		agents: agents.New(stores.Agents, agents.Deps{
			Sent: deps.Sent, Refused: deps.RefusedResults, Log: deps.Log, Now: deps.Now,
		}),
		hub:        stream.NewHub(stores.Events, config.Streams, deps.Log, deps.Now),
		background: resource.NewTasks(cmp.Or(config.TaskDeadline, resource.TaskDeadline), resource.MaxTasks),
		changes:    resource.NewTasks(cmp.Or(config.TaskDeadline, resource.TaskDeadline), resource.MaxChanges),
		mails:      resource.NewTasks(accounts.MailDeadline, resource.MaxTasks),
	}
	limits := resource.Plans{EnterpriseMinInterval: config.EnterpriseMinInterval, EnterpriseRate: config.EnterpriseRate}
	links := resource.WorkflowLinks{UIURL: config.TemporalUIURL, Namespace: config.TemporalNamespace}
	notify := resource.NewNotifier(stores.Loops, deps.Loops, deps.Incidents, s.changes, deps.Now)
	addresses := rest.NewRateWindow(config.AddressRate, time.Minute, deps.Now)
	if deps.PrivateTargets != nil {
		addresses.Unless(deps.PrivateTargets.Open)
	}
	limiter := rest.NewLimiter(stores.Rates, limits.Rate, deps.Now)
	loads := resource.NewLoads(stores.System, deps.Now)
	s.accounts = accounts.New(stores.Accounts, accounts.Deps{
		Mailer: deps.Mailer, Background: s.background, Mails: s.mails, Addresses: addresses, PrivateTargets: deps.PrivateTargets,
		Now: deps.Now, PublicURL: config.PublicURL, SignupTier: config.SignupTier, SigningKey: config.SigningKey,
		OlderSigningKeys: config.OlderSigningKeys, UnverifiedPerAddress: config.UnverifiedPerAddress, UnverifiedTotal: config.UnverifiedTotal,
	})
	files := resource.NewAtOnce(filesAtOnce, filesBusy, filesPause)
	checking := checks.New(stores.Checks, checks.Deps{
		Types: deps.Probes, Loops: deps.Loops, Plans: limits, Notifier: notify, Mailer: deps.Mailer, Loads: loads, Links: links,
		PublicURL: config.PublicURL, HashPassword: s.accounts.HashPassword, LookupTXT: deps.LookupTXT, Now: deps.Now, Files: files,
	})
	alerting := alerts.New(stores.Alerts, alerts.Deps{
		Channels:         deps.Channels,
		Incidents:        deps.Incidents,
		Notifier:         notify,
		Plans:            limits,
		Mails:            s.mails,
		Links:            links,
		Recipients:       recipientsOf(deps),
		PublicURL:        config.PublicURL,
		DeliverySchedule: config.DeliverySchedule,
		Now:              deps.Now,
		Files:            files,
	})
	auth := s.accounts.Auth

	r := newRegistrar(deps, mux)
	r.Protected = append(r.Protected, auth.Authenticate, limiter.LimitOrganization)
	r.Open = append(r.Open, addresses.LimitAddress)
	s.registrar = r
	resource.RegisterAll(r, []resource.Operations{
		newSystem(deps, loads),
		s.accounts,
		checking,
		alerting,
		backtests.New(stores.Backtests, deps.Probes, deps.Now),
		apply.New(stores.Apply, checking.Checks, alerting.Channels),
		&alertStream{hub: s.hub, auth: auth},
		s.agents,
	})
	s.pages = s.accounts.Pages
	s.codec = newCodecEndpoint(deps, auth, addresses)
	s.limited = servePublic(s.routes, deps)
	servePings(s.routes, deps, checking.Checks)
	s.limiter, s.rateOf = limiter, limits.Rate
	s.outside = outside(deps)
	s.handler = s.outside(rest.Measure(r.Routed(mux), deps.Now, deps.Answered))
	return s
}

// recipientsOf returns the recipients of mail, nil where mail does not leave the machine.
func recipientsOf(deps Deps) accounts.RecipientStore {
	if deps.Mailer == nil || !deps.Mailer.Sends() {
		return nil
	}
	return deps.Stores.Accounts
}

// outside returns what every request passes first: the log, the deadlines of its answer and
// its body, and the guard of private targets.
func outside(deps Deps) func(next http.Handler) http.Handler {
	config := deps.Config
	return func(next http.Handler) http.Handler {
		guarded := rest.GuardPrivate(next, deps.PrivateTargets, config.TrustedProxies, ownOriginRule()...)
		timed := rest.TimeBodies(guarded, config.BodyDeadline)
		return rest.Observe(timed, deps.Log, config.TrustedProxies, cmp.Or(config.WriteDeadline, writeDeadline))
	}
}

// writeDeadline is how long a client may take to read a part of an answer.
const writeDeadline = 2 * time.Minute

// ownOriginRule are the beginnings of the paths that pages of other origins may post to:
// the codec endpoint, the dashboard and MCP check origins themselves, and the forms of mailed links, which some
// browsers send without their origin, need a token that no other page knows.
func ownOriginRule() []string {
	return []string{"/codec", "/app", "/mcp", "/verify", "/recover", "/email-change", "/confirm-recipient", "/unsubscribe", "/acknowledge"}
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// OpenStreams returns how many alert streams are open.
func (s *Server) OpenStreams() int64 { return s.hub.Open() }

// OpenAgentStreams returns how many streams of agents are open.
func (s *Server) OpenAgentStreams() int64 { return s.agents.Open() }

// EndStreams ends every stream, of alerts and of agents, which no request would do by itself, and
// refuses new ones, so that a server that shuts down need not wait for them.
func (s *Server) EndStreams() {
	s.hub.End()
	s.agents.End()
}

// Close waits for what requests left running in the background, some seconds at
// most.
func (s *Server) Close() {
	s.hub.Close()
	s.background.Stop()
	s.changes.Stop()
	s.mails.Stop()
}
