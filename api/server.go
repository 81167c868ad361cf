// SPDX-License-Identifier: Apache-2.0

package api

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/vigil-monitor/vigil/api/accounts"
	"github.com/vigil-monitor/vigil/api/agents"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/api/stream"
	"github.com/vigil-monitor/vigil/internal/account"
)

// Server is the HTTP interface. It is safe for concurrent use.
type Server struct {
	routes    *resource.Routes
	registrar *rest.Registrar
	handler   http.Handler

	hub      *stream.Hub
	tasks    *tasks
	pages    *accounts.Pages
	codec    *codecEndpoint // nil: none
	types    types
	accounts *accounts.Service
	agents   *agents.Service
	outside  func(http.Handler) http.Handler // see Guard
	limiter  *rest.Limiter
	rateOf   func(account.Tier) int64 // requests of an organization in a window
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
		hub: stream.NewHub(stores.Events, config.Streams, deps.Log, deps.Now),
		tasks: &tasks{
			background: resource.NewTasks(cmp.Or(config.TaskDeadline, resource.TaskDeadline), resource.MaxTasks),
			changes:    resource.NewTasks(cmp.Or(config.TaskDeadline, resource.TaskDeadline), resource.MaxChanges),
			mails:      resource.NewTasks(accounts.MailDeadline, resource.MaxTasks),
		},
	}
	shared := newParts(deps, s.tasks)
	mine := shared.on(stores)
	s.accounts, s.pages = mine.accounts, mine.accounts.Pages
	s.limiter, s.rateOf = rest.NewLimiter(stores.Rates, shared.limits.Rate, deps.Now), shared.limits.Rate
	auth := s.accounts.Auth

	r := newRegistrar(deps, mux)
	r.Protected = append(r.Protected, auth.Authenticate, s.limiter.LimitOrganization)
	r.Open = append(r.Open, shared.addresses.LimitAddress)
	s.registrar = r
	newSystem(deps, shared.loads).Register(r)
	resource.RegisterAll(r, mine.list())
	(&alertStream{hub: s.hub, auth: auth}).Register(r)
	s.agents.Register(r)

	s.codec = newCodecEndpoint(deps, auth, shared.addresses)
	s.limited = servePublic(s.routes, deps)
	servePings(s.routes, deps, mine.checks.Checks)
	s.outside = outside(deps)
	answer := notesMissing(s.withStandby(r.Routed(mux), shared), deps.MissingResults)
	s.handler = s.outside(rest.Measure(answer, deps.Now, deps.Answered))
	return s
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
	s.tasks.background.Stop()
	s.tasks.changes.Stop()
	s.tasks.mails.Stop()
}
