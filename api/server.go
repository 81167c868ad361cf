package api

import (
	"cmp"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"vigil"
)

// Server is the HTTP interface. It is safe for concurrent use.
type Server struct {
	Deps
	mux     *http.ServeMux
	huma    huma.API
	handler http.Handler

	auth      *authenticator
	passwords *passwords
	online    *cache[map[string][]vigil.CheckType]
	rates     *rates
	addresses *pace // requests without a credential
	mailing   *pace // mails that an account causes
	tasks     *tasks
	mails     *tasks
	streams   *streams
	trials    chan struct{} // messages that test a channel, under way
}

// New assembles the API. Call Close when no request is in flight any more.
func New(deps Deps) (*Server, error) {
	if err := deps.validate(); err != nil {
		return nil, err
	}
	s := assemble(deps)
	signer := newSigner(deps.Config.SigningKey, deps.Config.OlderSigningKeys, deps.Now)
	s.auth = newAuthenticator(deps.Store, signer, s.tasks, deps.Now)
	s.passwords = newPasswords()
	s.online = newCache[map[string][]vigil.CheckType](onlineBelief, 1, deps.Now)
	s.rates = newRates(deps.Store, deps.Now)
	s.addresses = newPace(deps.Config.AddressRate, time.Minute, deps.Now)
	s.mailing = newPace(mailsPerHour, time.Hour, deps.Now)
	s.streams = newStreams(deps.Store, deps.Config.Streams, deps.Log)
	if err := s.servePages(); err != nil {
		return nil, err
	}
	if err := s.serveDocument(); err != nil {
		return nil, err
	}
	return s, nil
}

// assemble registers every operation.
func assemble(deps Deps) *Server {
	configureHuma()
	s := &Server{Deps: deps, mux: http.NewServeMux(), tasks: newTasks(cmp.Or(deps.Config.TaskDeadline, taskDeadline)), mails: newTasks(mailDeadline)}
	s.huma = humago.New(s.mux, s.humaConfig())
	s.registerSystem()
	s.registerAccount()
	s.registerVerification()
	s.registerAudit()
	s.registerKeys()
	s.registerRegions()
	s.registerChecks()
	s.registerRuns()
	s.registerCheckLoops()
	s.registerUsage()
	s.registerAlerts()
	s.handler = s.observe(s.measure(http.HandlerFunc(s.route)))
	return s
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Close waits for what requests left running in the background, some seconds at
// most.
func (s *Server) Close() {
	s.streams.close()
	s.tasks.stop()
	s.mails.stop()
}

// route hands a request to its operation. What the mux would answer by itself,
// in plain text or with a redirect, is answered as JSON here.
func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	if !canonical(r.URL.Path) {
		writeError(ctx, w, errNoRoute(r))
		return
	}
	if _, pattern := s.mux.Handler(r); pattern == "" {
		s.unrouted(w, r)
		return
	}
	if r.ContentLength > maxBody {
		w.Header().Set("Connection", "close")
		writeError(ctx, w, errTooLarge())
		return
	}
	s.mux.ServeHTTP(w, r)
}

// canonical reports whether a path is one that the mux would not rewrite.
func canonical(p string) bool {
	return strings.HasPrefix(p, "/") && (p == "/" || path.Clean(p) == strings.TrimSuffix(p, "/"))
}

// unrouted answers what no operation serves: 405 with the methods that the path
// has, or 404.
func (s *Server) unrouted(w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		probe := &http.Request{Method: method, URL: r.URL, Host: r.Host}
		if _, pattern := s.mux.Handler(probe); pattern != "" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		writeError(r.Context(), w, errNoRoute(r))
		return
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	writeError(r.Context(), w, &vigil.Error{
		Code:    vigil.CodeMethod,
		Message: "This path does not support the method; it supports " + strings.Join(allowed, ", ") + ".",
		Details: map[string]any{"allowed": allowed},
	})
}

func errNoRoute(*http.Request) error {
	return vigil.Errorf(vigil.CodeNotFound, "There is nothing at this path; see /docs for what there is.")
}
