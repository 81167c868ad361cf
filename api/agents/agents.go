// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/api/stream"
	"github.com/vigil-monitor/vigil/internal/agentlink"
	"github.com/vigil-monitor/vigil/internal/location"
)

// Store keeps what agents say, and what they may see.
type Store interface {
	// OpenSession opens a session for the location of a token. An unknown token is a CodeUnauthorized
	// error, and too many agents at a time are a CodeConflict one.
	OpenSession(ctx context.Context, tokenHash []byte, hello *agentlink.Hello) (location.Begun, error)
	// SessionOf returns a session of the location of a token. An unknown token is a CodeUnauthorized
	// error, and a session that is not the location's a CodeNotFound error.
	SessionOf(ctx context.Context, tokenHash []byte, id uuid.UUID) (location.Session, error)
	// RunsOf returns how those of these checks run that are in a location.
	RunsOf(ctx context.Context, in location.Access, checks []uuid.UUID) (map[uuid.UUID]location.Runs, error)
	// AddResults stores results for the turns of their loops. They are committed when it returns.
	AddResults(ctx context.Context, region string, results []agentlink.Result) error
	// ReportOf records that an agent lives.
	ReportOf(ctx context.Context, in location.Seen) (location.Lives, error)
	// LocationDefinitions returns the checks of a region that changed since a cursor, of an organization
	// unless its ID is zero.
	LocationDefinitions(ctx context.Context, orgID uuid.UUID, region, cursor string) (
		defs []vigil.Definition, gone []vigil.Tombstone, next string, err error)
	// PausedChecks returns the checks of a region whose probing maintenance pauses now, of an organization
	// unless its ID is zero.
	PausedChecks(ctx context.Context, orgID uuid.UUID, region string) ([]uuid.UUID, error)
	// Definition returns one check, or a trial.
	Definition(ctx context.Context, checkID uuid.UUID) (vigil.Definition, error)
	WaitingTasks(ctx context.Context) ([]location.Task, error)
	TakeTask(ctx context.Context, task, session uuid.UUID) (taken bool, err error)
	AnswerTask(ctx context.Context, task, session uuid.UUID, answer *agentlink.TaskAnswer) error
}

// Deps are what agents need besides their store.
type Deps struct {
	// Sent is called when results are stored, so that turns of this process look for them at once;
	// nil is not called.
	Sent func()
	// Refused counts results that were not stored, by their reason; nil counts nothing.
	Refused func(reason string, n int)
	Log     *slog.Logger
	Now     func() time.Time
}

// Limits of requests.
const (
	// unknownPerMinute is how many tokens that are not known an address may try.
	unknownPerMinute = 60
	// requestsPerMinute is how many requests a location may make: 50 agents report each second.
	requestsPerMinute = 12_000
	// reportValues is how many values a report may have, with objects, arrays and what is in them.
	reportValues = 300_000
)

// Service is the operations of agents. Close ends its streams.
type Service struct {
	store   Store
	deps    Deps
	hub     *hub
	limit   *rest.RateWindow // by token
	unknown *rest.RateWindow // by address
}

// New returns the operations.
func New(store Store, deps Deps) *Service {
	return &Service{
		store: store, deps: deps, hub: newHub(store, deps.Log),
		limit:   rest.NewRateWindow(requestsPerMinute, time.Minute, deps.Now),
		unknown: rest.NewRateWindow(unknownPerMinute, time.Minute, deps.Now),
	}
}

// Open returns how many streams are open.
func (s *Service) Open() int64 { return int64(s.hub.open()) }

// End ends every stream, and refuses new ones.
func (s *Service) End() { s.hub.end() }

// Register adds the operations. They need the token of a location, and no other credential opens them.
func (s *Service) Register(r *rest.Registrar) {
	own := *r
	own.Protected = huma.Middlewares{rest.Guard(s.requireToken)}
	rest.Register(&own, rest.Operation{
		Method: http.MethodPost, Path: agentlink.PathSessions, ID: "open-agent-session", Tag: resource.TagAgents,
		Scope: rest.AnyScope, Audit: rest.NotAudited,
		Summary: "Open the session of an agent",
		Description: "For the program of an agent, with the token of its location as bearer credential. The configs of checks are " +
			"sealed to `key` (HPKE, RFC 9180). The same instance gets the same session.",
		Errors: []int{http.StatusConflict, http.StatusTooManyRequests},
	}, s.open)
	rest.Register(&own, rest.Operation{
		Method: http.MethodGet, Path: agentlink.PathStream, ID: "stream-agent-definitions", Tag: resource.TagAgents,
		Scope: rest.AnyScope, Resource: "session",
		Summary: "Stream the checks of a location",
		Description: "Server-sent events. `definitions` has `full`, `checks` and `gone`; its id is a cursor to resume from. `task` has a " +
			"probe that somebody waits for. The stream ends within five seconds when the token does.",
		Errors: []int{http.StatusServiceUnavailable},
	}, s.stream)
	rest.OperationAt(r.Document(), http.MethodGet, agentlink.PathStream).Responses["200"].Content = map[string]*huma.MediaType{
		stream.ContentType: {Schema: &huma.Schema{Type: huma.TypeString, Description: "Server-sent events."}},
	}
	rest.Register(&own, rest.Operation{
		Method: http.MethodPost, Path: agentlink.PathResults, ID: "report-agent-results", Tag: resource.TagAgents,
		Scope: rest.AnyScope, Audit: rest.NotAudited, Resource: "session", MaxValues: reportValues,
		Summary: "Report the results of an agent",
		Description: "At least every second, also without results. The answer comes after the commit. A slot has one result: that of a " +
			"slot which has one counts as stored. What is refused has a reason, and is not to be sent again.",
		Errors: []int{http.StatusTooManyRequests},
	}, s.report)
	rest.Register(&own, rest.Operation{
		Method: http.MethodPost, Path: agentlink.PathTask, ID: "answer-agent-task", Tag: resource.TagAgents, Status: http.StatusNoContent,
		Scope: rest.AnyScope, Audit: rest.NotAudited, Resource: "task",
		Summary: "Answer a task",
		Errors:  []int{http.StatusTooManyRequests},
	}, s.answer)
}

// tokenLength is how long a token may be.
const tokenLength = 200

// requireToken refuses what has no token, before its body is read. Whether it is known is asked with what the
// operation reads.
func (s *Service) requireToken(ctx huma.Context) error {
	token := tokenOf(ctx.Header("Authorization"))
	if token == "" {
		return vigil.Errorf(vigil.CodeUnauthorized, "The Authorization header must be: Bearer, a space, and the token of a location (%s...).",
			agentlink.TokenPrefix)
	}
	hash := hashOf(token)
	if wait := s.limit.Count(string(hash)); wait > 0 {
		return rest.ErrTooMany("The location makes too many requests", wait)
	}
	rest.RequestOf(ctx.Context()).TokenHash = hash
	return nil
}

// tokenOf returns the token of a header, empty for another one.
func tokenOf(authorization string) string {
	scheme, token, _ := strings.Cut(authorization, " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || !strings.HasPrefix(token, agentlink.TokenPrefix) || len(token) > tokenLength {
		return ""
	}
	return token
}

func hashOf(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// known counts an address that tries tokens which are not known.
func (s *Service) known(ctx context.Context, err error) error {
	if vigil.ErrorCode(err) != vigil.CodeUnauthorized {
		return err
	}
	if wait := s.unknown.Count(rest.Network(rest.RequestOf(ctx).Address)); wait > 0 {
		return rest.ErrTooMany("This address has tried many tokens that are not known", wait)
	}
	return err
}

type helloInput struct {
	Body agentlink.Hello
}

func (s *Service) open(ctx context.Context, in *helloInput) (*rest.Answer[agentlink.Welcome], error) {
	hello := in.Body
	if hello.Protocol != agentlink.Protocol {
		return nil, vigil.Invalid("protocol", "is %d, and this platform speaks %d; use an agent of a release near the platform's",
			hello.Protocol, agentlink.Protocol)
	}
	if _, err := agentlink.ParseKey(hello.Key); err != nil {
		return nil, vigil.Invalid("key", "must be a public key of X25519, 32 bytes in base64")
	}
	if hello.Instance == uuid.Nil {
		return nil, vigil.Invalid("instance", "must be a UUID, chosen at random when the program starts")
	}
	begun, err := s.store.OpenSession(ctx, rest.RequestOf(ctx).TokenHash, &hello)
	if err != nil {
		return nil, s.known(ctx, err)
	}
	return rest.NewAnswer(agentlink.Welcome{
		Session: begun.Session, Time: begun.Time, Epoch: begun.Epoch,
		Location: agentlink.Place{ID: begun.Location.ID, Key: begun.Location.Key, Name: begun.Location.Name},
	}), nil
}

// SessionPath has the session of a request.
type SessionPath struct {
	Session string `path:"session" format:"uuid" doc:"ID of the session."`
}

// session returns the session of a request.
func (s *Service) session(ctx context.Context, path SessionPath) (location.Session, error) {
	id, err := rest.ParseID(path.Session, "session")
	if err != nil {
		return location.Session{}, err
	}
	session, err := s.store.SessionOf(ctx, rest.RequestOf(ctx).TokenHash, id)
	return session, s.known(ctx, err)
}

type answerInput struct {
	SessionPath

	Task string `path:"task" format:"uuid" doc:"ID of the task."`
	Body agentlink.TaskAnswer
}

func (s *Service) answer(ctx context.Context, in *answerInput) (*struct{}, error) {
	session, err := s.session(ctx, in.SessionPath)
	if err != nil {
		return nil, err
	}
	task, err := rest.ParseID(in.Task, "task")
	if err != nil {
		return nil, err
	}
	if problem := judgeObservation(&in.Body.Observation); problem != "" {
		return nil, vigil.Invalid("observation", "%s", problem)
	}
	return nil, s.store.AnswerTask(ctx, task, session.ID, &in.Body)
}
