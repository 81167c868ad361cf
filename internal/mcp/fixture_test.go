// SPDX-License-Identifier: Apache-2.0

package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/api/apitest"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/docs"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/audit"
	"github.com/vigil-monitor/vigil/internal/channelhealth"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/mcp"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// site is the MCP server on the real API and a database of its own. Only Temporal is
// missing: a test by hand probes in this process, and incidents change as their activities
// change them.
type site struct {
	url    string
	public string
	store  *storage.Store
	api    *api.Server
	tools  *mcp.Server
}

// open starts a site with a public URL; empty for that of its listener.
func open(t *testing.T, public string) *site {
	t.Helper()
	return openOn(t, storagetest.New(t), public)
}

// openOn starts a process of the API on a database.
func openOn(t *testing.T, store *storage.Store, public string) *site {
	t.Helper()
	s := &site{store: store, public: public}
	var handler http.Handler
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(listener.Close)
	s.url = listener.URL
	if s.public == "" {
		s.public = s.url
	}
	guard := egress.New(egress.Policy{AllowPrivate: true})
	probes := probe.NewRegistry(guard)
	var err error
	s.api, err = api.New(api.Deps{
		Stores: apitest.Stores(
			store,
		),
		Loops:     probing{probes: probes},
		Incidents: incidents{store},
		Now:       time.Now,
		Log:       slog.New(slog.DiscardHandler),
		Probes:    probes,
		Channels:  notify.NewRegistry(guard),
		Config:    api.Config{PublicURL: s.public, SigningKey: bytes.Repeat([]byte{7}, 32), SignupTier: account.TierPaid},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.api.Close)
	s.tools, err = mcp.New(mcp.Deps{
		API: s.api, Authenticate: s.api.Authenticated, Count: s.api.Count, CheckBody: rest.CheckBody, Refuse: rest.WriteError,
		Scopes:    func(ctx context.Context) []account.Scope { return rest.CallerOf(ctx).Scopes() },
		PublicURL: s.public, Version: "test", Docs: docs.Pages,
	})
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/mcp", s.api.Guard(s.tools))
	mux.Handle("/", s.api)
	handler = mux
	return s
}

// probing starts no loop, and probes from one region for a test by hand.
type probing struct{ probes *probe.Registry }

func (probing) Apply(context.Context, vigil.Loop) error              { return nil }
func (probing) Stop(context.Context, uuid.UUID, string, int64) error { return nil }
func (probing) State(context.Context, uuid.UUID, string) (vigil.LoopState, error) {
	return vigil.LoopState{}, vigil.Errorf(vigil.CodeUnavailable, "There is no Temporal.")
}

func (p probing) Test(ctx context.Context, check vigil.Check, region string, _ bool) (vigil.Result, error) {
	parsed, err := p.probes.Parse(check.Type, check.Config, check.Interval)
	if err != nil {
		return vigil.Result{}, err
	}
	return vigil.Result{ID: uuid.New(), CheckID: check.ID, Region: region, Slot: time.Now(), Observation: parsed.Run(ctx)}, nil
}

// incidents changes the rows of incidents as the activities of their workflows do.
type incidents struct{ store *storage.Store }

func (i incidents) Acknowledge(ctx context.Context, action vigil.UserAction) (vigil.Incident, error) {
	return i.change(ctx, action, func(ctx context.Context) error {
		text, err := i.textOf(ctx, &action)
		if err == nil {
			_, err = i.store.AcknowledgeIncident(ctx, vigil.AcknowledgeRequest{ID: action.IncidentID, TextID: text})
		}
		return err
	})
}

func (i incidents) Resolve(ctx context.Context, action vigil.UserAction) (vigil.Incident, error) {
	return i.change(ctx, action, func(ctx context.Context) error {
		text, err := i.textOf(ctx, &action)
		if err == nil {
			_, err = i.store.ResolveIncident(ctx, vigil.ResolveRequest{
				ID: action.IncidentID, Resolution: vigil.ResolvedManually, TextID: text,
			})
		}
		return err
	})
}

// textOf stores the author and the note of an action, as the update of a workflow has them.
func (i incidents) textOf(ctx context.Context, action *vigil.UserAction) (uuid.UUID, error) {
	text := vigil.IncidentText{ID: uuid.New(), IncidentID: action.IncidentID, Author: action.By, Note: action.Note}
	return text.ID, i.store.StoreIncidentText(ctx, text)
}

func (i incidents) change(ctx context.Context, action vigil.UserAction, change func(context.Context) error) (vigil.Incident, error) {
	if _, err := i.store.Incident(ctx, action.OrgID, action.IncidentID); err != nil {
		return vigil.Incident{}, err
	}
	// The activity runs in another process: nothing of the request goes there.
	if err := change(context.WithoutCancel(audit.NewContext(ctx, nil))); err != nil {
		return vigil.Incident{}, err
	}
	return i.store.Incident(ctx, action.OrgID, action.IncidentID)
}

func (i incidents) Redeliver(ctx context.Context, orgID, deliveryID uuid.UUID) error {
	_, err := i.store.RequestRedelivery(ctx, orgID, deliveryID)
	return err
}

func (incidents) Refresh(context.Context, uuid.UUID) error { return nil }

func (incidents) Recover(context.Context, channelhealth.Recovery) error { return nil }

func (incidents) Send(context.Context, vigil.PendingDelivery) error { return nil }

func (incidents) StartDrill(context.Context, uuid.UUID, uuid.UUID) error { return nil }

const password = "difference engine"

// account is an organization with a key.
type person struct {
	site  *site
	email string
	key   string
}

// signUp makes an organization and a key with all scopes.
func (s *site) signUp(t *testing.T) *person {
	t.Helper()
	a := &person{site: s, email: uuid.NewString() + "@example.com"}
	var session struct{ Token string }
	a.call(t, http.MethodPost, "/v1/auth/signup", map[string]any{
		"name": "Ada", "organization_name": "Engines", "email": a.email, "password": password,
	}, &session)
	a.key = session.Token
	a.key = a.newKey(t)
	return a
}

// newKey makes a key with scopes; none are all.
func (a *person) newKey(t *testing.T, scopes ...string) string {
	t.Helper()
	members := map[string]any{"name": "tests"}
	if len(scopes) > 0 {
		members["scopes"] = scopes
	}
	var made struct {
		Key string `json:"api_key"`
	}
	a.call(t, http.MethodPost, "/v1/api-keys", members, &made)
	return made.Key
}

// call calls the API with the account's key, and reads data of the answer.
func (a *person) call(t *testing.T, method, path string, body, into any) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequestWithContext(t.Context(), method, path, bytes.NewReader(text))
	req.Header.Set("Content-Type", "application/json")
	if a.key != "" {
		req.Header.Set("Authorization", "Bearer "+a.key)
	}
	answer := httptest.NewRecorder()
	a.site.api.ServeHTTP(answer, req)
	if answer.Code >= http.StatusBadRequest {
		t.Fatalf("%s %s: %d %s", method, path, answer.Code, answer.Body)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &struct{ Data any }{into}); err != nil {
		t.Fatal(err)
	}
}

// create makes a resource and returns its id.
func (a *person) create(t *testing.T, path string, members map[string]any) string {
	t.Helper()
	var made struct{ ID string }
	a.call(t, http.MethodPost, path, members, &made)
	return made.ID
}

// transcript keeps everything that the sessions of a test received.
type transcript struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *transcript) add(text []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(text)
}

func (l *transcript) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// sender sends the requests of a session: with a key, in turn to several processes.
type sender struct {
	key  string
	host string // Host header; empty for that of the URL
	urls []string
	log  *transcript
	mu   sync.Mutex
	n    int
}

func (s *sender) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer "+s.key)
	if s.host != "" {
		req.Host = s.host
		req.Header.Set("X-Forwarded-Proto", "https")
	}
	s.mu.Lock()
	if len(s.urls) > 0 {
		req.URL.Host = strings.TrimPrefix(s.urls[s.n%len(s.urls)], "http://")
		s.n++
	}
	s.mu.Unlock()
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil || s.log == nil {
		return res, err
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	s.log.add(body)
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, err
}

// clientName is how the sessions of tests name themselves.
const clientName = "assistant-under-test"

// session is a client of MCP.
type session struct {
	*sdk.ClientSession
	t *testing.T
}

// connect opens a session with a key; version is the protocol's, empty for the newest.
func (s *site) connect(t *testing.T, version string, through *sender) *session {
	t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: clientName, Version: "1"}, nil)
	transport := &sdk.StreamableClientTransport{
		Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: through}, MaxRetries: -1, DisableStandaloneSSE: true,
	}
	opened, err := c.Connect(t.Context(), transport, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = opened.Close() })
	return &session{ClientSession: opened, t: t}
}

// args are the arguments of a tool.
type args = map[string]any

// use calls a tool, which must do what is asked, and returns its result.
func (s *session) use(tool string, arguments args) args {
	s.t.Helper()
	result := s.try(tool, arguments)
	if result.IsError {
		s.t.Fatalf("%s %v: %s", tool, arguments, textOf(result))
	}
	return structured(s.t, result)
}

// refused calls a tool, which must refuse, and returns its error.
func (s *session) refused(tool string, arguments args) args {
	s.t.Helper()
	result := s.try(tool, arguments)
	if !result.IsError {
		s.t.Fatalf("%s %v was not refused: %s", tool, arguments, textOf(result))
	}
	return structured(s.t, result)
}

func (s *session) try(tool string, arguments args) *sdk.CallToolResult {
	s.t.Helper()
	result, err := s.CallTool(s.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		s.t.Fatalf("%s %v: %v", tool, arguments, err)
	}
	if size := len(textOf(result)); size > 25_000 {
		s.t.Errorf("%s answers with %d bytes", tool, size)
	}
	return result
}

// structured returns the structured content of a result, which its text repeats.
func structured(t *testing.T, result *sdk.CallToolResult) args {
	t.Helper()
	content, ok := result.StructuredContent.(map[string]any)
	if !ok {
		t.Fatalf("the structured content is %T", result.StructuredContent)
	}
	var repeated args
	if err := json.Unmarshal([]byte(textOf(result)), &repeated); err != nil || fmt.Sprint(repeated) != fmt.Sprint(content) {
		t.Errorf("the text is %s (%v), the structured content %v", textOf(result), err, content)
	}
	return content
}

func textOf(result *sdk.CallToolResult) string {
	if len(result.Content) == 0 {
		return ""
	}
	content, _ := result.Content[0].(*sdk.TextContent)
	if content == nil {
		return ""
	}
	return content.Text
}
