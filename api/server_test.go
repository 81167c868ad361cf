// SPDX-License-Identifier: Apache-2.0

package api_test

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
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/api/apitest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// testServer is a running API on a database of its own, with a real registry of
// probes. Only the loops are recorded instead of run.
type testServer struct {
	*client
	store     *storage.Store
	loops     *loopRecorder
	incidents *incidentStub
	clock     *clock
	log       *syncBuffer
}

// setup starts a testServer; options change what the API is given.
func setup(t *testing.T, options ...func(*api.Deps)) *testServer {
	t.Helper()
	return setupOn(t, storagetest.DSN(t), options...)
}

// setupOn is setup on a database that the test knows, with the schema.
func setupOn(t *testing.T, dsn string, options ...func(*api.Deps)) *testServer {
	t.Helper()
	b := onDatabase(t, dsn)
	b.client = b.serve(t, options...)
	return b
}

// serve starts one more API process on the same database.
func (b *testServer) serve(t *testing.T, options ...func(*api.Deps)) *client {
	t.Helper()
	return b.listen(t, b.server(t, options...))
}

// listen gives an API process an address until the test ends.
func (b *testServer) listen(t *testing.T, server *api.Server) *client {
	t.Helper()
	listener := httptest.NewServer(server)
	c := &client{url: listener.URL, http: &http.Client{Transport: conforming(t, listener.Client().Transport)}}
	t.Cleanup(func() {
		listener.Close()
		server.Close()
		listener, server = nil, nil // testing keeps what the functions of a parallel test refer to until all have ended
	})
	return c
}

// server assembles an API process on the same database, whose hashes of passwords are cheap; the caller closes it.
func (b *testServer) server(t *testing.T, options ...func(*api.Deps)) *api.Server {
	t.Helper()
	server := b.assemble(t, options...)
	server.HashCheaply()
	return server
}

// assemble is server with the hashes that people get.
func (b *testServer) assemble(t *testing.T, options ...func(*api.Deps)) *api.Server {
	t.Helper()
	deps := api.Deps{
		Stores: apitest.Stores(b.store),
		Loops:  b.loops,
		Probes: probe.NewRegistry(egress.New(egress.Policy{AllowPrivate: true})),
		// Only the workflow between the API and the rows is left out.
		Channels:  notify.NewRegistry(egress.New(egress.Policy{AllowPrivate: true})),
		Incidents: b.incidents,
		Config: api.Config{
			Version: "test", PublicURL: "http://vigil.test", EnterpriseMinInterval: time.Second,
			SigningKey: bytes.Repeat([]byte{7}, 32), TemporalUIURL: "http://ui.test", TemporalNamespace: "vigil",
			DeliverySchedule: vigil.DefaultRetrySchedule(),
			TaskDeadline:     30 * time.Second, // tests wait for what nothing repeats here
		},
		Log: slog.New(slog.NewJSONHandler(b.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Now: b.clock.Now,
	}
	for _, option := range options {
		option(&deps)
	}
	server, err := api.New(deps)
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// client speaks to the API, with a credential once it has one.
type client struct {
	url        string
	http       *http.Client
	credential string
}

// as returns a client with a credential.
func (c *client) as(credential string) *client {
	with := *c
	with.credential = credential
	return &with
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	raw    []byte
	body   map[string]any
}

// do sends a request; body is encoded as JSON unless it is a string, which is
// sent as it is.
func (c *client) do(t *testing.T, method, path string, body any, headers ...string) answer {
	t.Helper()
	var content io.Reader = http.NoBody
	switch body := body.(type) {
	case nil:
	case string:
		content = strings.NewReader(body)
	case io.Reader: // its length is not said
		content = body
	default:
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, c.url+path, content)
	if err != nil {
		t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.credential != "" {
		req.Header.Set("Authorization", "Bearer "+c.credential)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Del(headers[i])
		if headers[i+1] != "" {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	res, err := c.http.Do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	a := answer{status: res.StatusCode, header: res.Header}
	if a.raw, err = io.ReadAll(res.Body); err != nil {
		t.Fatal(err)
	}
	if len(a.raw) > 0 && strings.Contains(res.Header.Get("Content-Type"), "json") {
		if err := json.Unmarshal(a.raw, &a.body); err != nil {
			t.Fatalf("%s %s answered %q: %v", method, path, a.raw, err)
		}
	}
	return a
}

// want sends a request and fails the test unless it has the status.
func (c *client) want(t *testing.T, status int, method, path string, body any, headers ...string) answer {
	t.Helper()
	a := c.do(t, method, path, body, headers...)
	if a.status != status {
		t.Fatalf("%s %s: status %d, want %d: %s", method, path, a.status, status, a.raw)
	}
	return a
}

// data is the data member of an answer, an object.
func (a answer) data(t *testing.T) map[string]any {
	t.Helper()
	data, ok := a.body["data"].(map[string]any)
	if !ok {
		t.Fatalf("no object in data: %s", a.raw)
	}
	return data
}

// rows is the data member of an answer, a list.
func (a answer) rows(t *testing.T) []map[string]any {
	t.Helper()
	list, ok := a.body["data"].([]any)
	if !ok {
		t.Fatalf("no list in data: %s", a.raw)
	}
	rows := make([]map[string]any, 0, len(list))
	for _, item := range list {
		row, ok := item.(map[string]any)
		if !ok {
			t.Fatalf("no object in the list: %s", a.raw)
		}
		rows = append(rows, row)
	}
	return rows
}

// problem is the sentence of an error answer.
func (a answer) problem() string {
	sentence, _ := a.body["error"].(string)
	return sentence
}

// detail is a member of an error's details.
func (a answer) detail(name string) any {
	details, _ := a.body["details"].(map[string]any)
	return details[name]
}

// text is a string member of an object.
func text(object map[string]any, name string) string {
	value, _ := object[name].(string)
	return value
}

// person is the owner of a quick-signed-up organization.
type person struct {
	*client
	key   string
	org   uuid.UUID
	user  uuid.UUID
	email string
}

var serial atomic.Int64 //nolint:gochecknoglobals // numbers addresses across tests

// signup makes an organization of the tier that new ones get.
func (c *client) signup(t *testing.T) person {
	t.Helper()
	email := fmt.Sprintf("ada%d@example.com", serial.Add(1))
	data := c.want(t, http.StatusCreated, http.MethodPost, "/v1/auth/quick-signup", map[string]any{"email": email, "org_name": "Engines"}).
		data(t)
	key := text(data, "api_key")
	org, _ := data["organization"].(map[string]any)
	user, _ := data["user"].(map[string]any)
	return person{
		client: c.as(key), key: key, email: email,
		org: uuid.MustParse(text(org, "id")), user: uuid.MustParse(text(user, "id")),
	}
}

// signupWithPassword makes an account with a password, and a key of it.
func (c *client) signupWithPassword(t *testing.T, password string) person {
	t.Helper()
	email := fmt.Sprintf("grace%d@example.com", serial.Add(1))
	data := c.want(t, http.StatusCreated, http.MethodPost, "/v1/auth/signup",
		map[string]any{"email": email, "password": password, "name": "Grace", "organization_name": "Mark I"}).data(t)
	org, _ := data["organization"].(map[string]any)
	user, _ := data["user"].(map[string]any)
	session := c.as(text(data, "token"))
	key := text(session.want(t, http.StatusCreated, http.MethodPost, "/v1/api-keys", map[string]any{"name": "first"}).data(t), "api_key")
	return person{
		client: c.as(key), key: key, email: email,
		org: uuid.MustParse(text(org, "id")), user: uuid.MustParse(text(user, "id")),
	}
}

// tier moves an account to a tier and gives it a fresh key, since the tier of a
// known one is cached for some seconds.
func (b *testServer) tier(t *testing.T, a person, tier account.Tier) person {
	t.Helper()
	if err := b.store.SetTier(t.Context(), a.org, tier); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(5 * time.Second)
	return a
}

// newCheck is the body of a check that any tier may have.
func newCheck(changes ...func(map[string]any)) map[string]any {
	body := map[string]any{
		"name": "Home page", "type": "https", "interval_seconds": 60,
		"config": map[string]any{"url": "https://example.com/"},
	}
	for _, change := range changes {
		change(body)
	}
	return body
}

// with sets a member of a body.
func with(name string, value any) func(map[string]any) {
	return func(body map[string]any) { body[name] = value }
}

// check creates a check.
func (a person) check(t *testing.T, changes ...func(map[string]any)) map[string]any {
	t.Helper()
	return a.want(t, http.StatusCreated, http.MethodPost, "/v1/checks", newCheck(changes...)).data(t)
}

type clock = timingtest.Clock

func newClock() *clock { return timingtest.NewClock(time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)) }

// syncBuffer collects log lines.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// loopRecorder stands in for the loops: it records calls, and answers Test with
// what it was given.
type loopRecorder struct {
	mu      sync.Mutex
	applied []vigil.Loop
	stopped map[string]int64 // by workflow, at which revision
	tests   []trial
	err     error // of Apply and Stop
	state   func(checkID uuid.UUID, region string) (vigil.LoopState, error)
	test    func(check vigil.Check, region string, dryRun bool) (vigil.Result, error)
	hang    bool
}

type trial struct {
	region string
	dryRun bool
}

func (r *loopRecorder) Apply(ctx context.Context, loop vigil.Loop) error {
	if r.hang {
		<-ctx.Done()
		return ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.applied = append(r.applied, loop)
	return r.err
}

func (r *loopRecorder) Stop(_ context.Context, checkID uuid.UUID, region string, revision int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped == nil {
		r.stopped = make(map[string]int64)
	}
	r.stopped[vigil.LoopID(checkID, region)] = revision
	return r.err
}

func (r *loopRecorder) State(_ context.Context, checkID uuid.UUID, region string) (vigil.LoopState, error) {
	if r.state == nil {
		return vigil.LoopState{}, vigil.Errorf(vigil.CodeUnavailable, "The loop does not answer.")
	}
	return r.state(checkID, region)
}

func (r *loopRecorder) Test(_ context.Context, check vigil.Check, region string, dryRun bool) (vigil.Result, error) {
	r.mu.Lock()
	r.tests = append(r.tests, trial{region: region, dryRun: dryRun})
	r.mu.Unlock()
	if r.test == nil {
		return vigil.Result{}, vigil.Errorf(vigil.CodeUnavailable, "No worker polls this region.")
	}
	return r.test(check, region, dryRun)
}
