// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/google/uuid"
	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/zstd"

	"github.com/vigil-monitor/vigil/client"
)

// Identity is whom a session belongs to.
type Identity struct {
	UserID uuid.UUID
	// Version is the user's session version when the session began. A change of the
	// password raises it, which ends the session.
	Version int64
}

// Deps are the parts that the dashboard needs. All are required unless said otherwise.
type Deps struct {
	API http.Handler // answers /v1
	// ActAs returns a context whose requests are authenticated as the user.
	ActAs func(ctx context.Context, who Identity) context.Context
	// InBackground returns a context whose requests do not count in the rate of what the user does.
	InBackground func(ctx context.Context) context.Context
	// FromBrowser returns a context whose requests come from a browser in which the user has
	// signed in before.
	FromBrowser func(ctx context.Context, userID uuid.UUID, browser string) context.Context
	// Identify returns whose login token it is.
	Identify func(ctx context.Context, token string) (Identity, error)
	// LinkUser returns the name of whom a login link signs in, and UseLink uses it. Their
	// errors say what is wrong with the link.
	LinkUser func(ctx context.Context, token string) (name string, err error)
	UseLink  func(ctx context.Context, token string) (Identity, error)
	// TemporalUI returns an address that opens a path of the Temporal UI once, for a user and
	// the id of the session; an error for who may not. Nil: there is none behind a login.
	TemporalUI func(ctx context.Context, user, session uuid.UUID, path string) (string, error)
	// Sessions keeps the sessions of browsers; their data are account.SessionData.
	Sessions scs.CtxStore
	// ClientAddress returns the IP address that the request of a context came from.
	ClientAddress func(ctx context.Context) string

	// Changes finds out what changed on open pages; without it they do not change by themselves.
	Changes Changes

	Config Config
	Log    *slog.Logger
	Now    func() time.Time
}

// Config are the settings of the dashboard.
type Config struct {
	PublicURL string // where browsers reach the platform, without a slash at its end
	// TemporalUIURL is the address of the Temporal UI; empty when there is none.
	TemporalUIURL string
	// TemporalRetention is how long Temporal keeps a workflow after it closed; 0 when that
	// is not known. No link leads to one that is older.
	TemporalRetention time.Duration
	// Key signs what browsers keep besides the session, 32 bytes. All processes of a platform
	// need the same one; empty: a random one.
	Key []byte
	// MailLeaves: mail leaves the machine, so that accounts are made by a mailed link.
	MailLeaves bool
	// Beat is the time between two signs of life of an open page, at which its session is
	// looked at; 0 for 15 s. Shorter ones are for tests.
	Beat time.Duration
}

// beat returns the time between two signs of life of an open page.
func (c *Config) beat() time.Duration { return cmp.Or(c.Beat, 15*time.Second) }

// secure reports whether browsers reach the platform by TLS, so that cookies need it.
func (c *Config) secure() bool { return strings.HasPrefix(c.PublicURL, "https://") }

func (d *Deps) validate() error {
	if d.LinkUser == nil || d.UseLink == nil || d.FromBrowser == nil {
		return errors.New("web: LinkUser, UseLink and FromBrowser are required")
	}
	if d.API == nil || d.ActAs == nil || d.InBackground == nil || d.Identify == nil || d.Sessions == nil || d.ClientAddress == nil ||
		d.Log == nil ||
		d.Now == nil {
		return errors.New("web: API, ActAs, InBackground, Identify, Sessions, ClientAddress, Log and Now are required")
	}
	return nil
}

// Server is the dashboard. It answers /app and what is below it, and is safe for
// concurrent use.
type Server struct {
	deps       Deps
	api        *client.ClientWithResponses
	assets     *assets
	templates  map[string]pageTemplate
	sessions   *sessions
	signatures signatures
	nav        *navCache
	regions    *regionNames
	types      typeCatalog
	live       *hub // nil: pages do not change by themselves
	handler    http.Handler
}

// New assembles the dashboard.
func New(deps Deps) (*Server, error) {
	if err := deps.validate(); err != nil {
		return nil, err
	}
	s := &Server{
		deps:       deps,
		sessions:   newSessions(deps.Sessions, deps.Config.secure()),
		nav:        newNavCache(deps.Now),
		signatures: newSignatures(deps.Config.Key),
		regions:    &regionNames{now: deps.Now},
	}
	if deps.Changes != nil {
		s.live = newHub(deps.Changes, deps.Now, func(err error) {
			deps.Log.WarnContext(context.Background(), "what changed on open pages could not be read", "error", err)
		})
	}
	var err error
	if s.api, err = client.NewClientWithResponses(
		"http://api",
		client.WithHTTPClient(noting{client.InProcess(deps.API, asBrowser)}),
	); err != nil {
		return nil, err
	}
	if s.assets, err = readAssets(); err != nil {
		return nil, err
	}
	if s.templates, err = parseTemplates(s.assets); err != nil {
		return nil, err
	}
	compress, err := gzhttp.NewWrapper(gzhttp.ContentTypes([]string{"text/html"}), gzhttp.MinSize(1000),
		gzhttp.ZstdCompressionLevel(int(zstd.SpeedDefault)))
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	on := &routes{s: s, mux: mux}
	for _, add := range s.routesOf() {
		add(on)
	}
	on.open("/app/", func(*request) error { return errNoPage() })
	all := http.NewServeMux()
	all.Handle("GET "+assetPath, s.assets) // without a session, which would set a cookie
	all.Handle("/", s.sessions.load(compress(mux), s.sessionFailed))
	s.handler = guardHeaders(http.NewCrossOriginProtection().Handler(all))
	return s, nil
}

// routesOf lists the pages.
func (s *Server) routesOf() []func(*routes) {
	return []func(*routes){
		s.preferenceRoutes,
		s.signInRoutes,
		s.signUpRoutes,
		s.firstRunRoutes,
		s.accountRoutes,
		s.memberRoutes,
		s.organizationRoutes,
		s.pingKeyRoutes,
		s.recoverRoutes,
		s.moreRoutes,
		s.wallRoutes,
		s.findRoutes,
		s.overviewRoutes,
		s.checkRoutes,
		s.liveRoutes,
		s.checkFormRoutes, s.restRoutes, s.testRoutes,
		s.incidentListRoutes,
		s.incidentRoutes,
		s.incidentUpdateRoutes,
		s.statusPageRoutes, s.statusExtraRoutes,
		s.subscriptionRoutes, s.maintenanceRoutes,
		s.drillListRoutes, s.drillRoutes, s.drillFormRoutes, s.drillScheduleRoutes,
		s.deliveryListRoutes,
		s.deliveryRoutes,
		s.channelRoutes,
		s.channelPageRoutes,
		s.recoveryRoutes,
		s.ruleRoutes,
		s.keyRoutes,
		s.locationRoutes,
		s.usageRoutes,
		s.reportRoutes, s.reportScheduleRoutes,
		s.temporalRoutes,
		s.auditRoutes,
	}
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// OpenPages returns how many pages are open that change by themselves.
func (s *Server) OpenPages() int64 {
	if s.live == nil {
		return 0
	}
	return s.live.open()
}

// EndStreams ends the streams of all open pages, which no request would do by itself, and
// refuses new ones, so that a server that shuts down need not wait for them.
func (s *Server) EndStreams() {
	if s.live != nil {
		s.live.end()
	}
}

// guardHeaders adds the headers that every answer has.
func guardHeaders(next http.Handler) http.Handler {
	const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
		"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}
