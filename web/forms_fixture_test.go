package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"golang.org/x/net/html"

	"vigil"
	"vigil/api"
	"vigil/api/rest"
	"vigil/egress"
	"vigil/notify"
	"vigil/probe"
	"vigil/storage"
	"vigil/storage/storagetest"
	"vigil/web"
)

// office is a dashboard over the real API and a database of its own, with a signed-in
// user. Only loops do not run; a test by hand probes in this process.
type office struct {
	url    string
	client *http.Client
	store  *storage.Store
	org    uuid.UUID
	user   uuid.UUID
	api    http.Handler
	key    string
}

// openOffice starts an office of the paid tier.
func openOffice(t *testing.T) *office {
	t.Helper()
	o := &office{store: storagetest.New(t)}
	probes := probe.NewRegistry(egress.New(egress.Policy{AllowPrivate: true}))
	server, err := api.New(api.Deps{
		Store: o.store, Loops: noLoops{probes: probes}, Probes: probes, Incidents: noIncidents{},
		Channels: notify.NewRegistry(egress.New(egress.Policy{AllowPrivate: true})),
		Config: api.Config{
			Version: "test", PublicURL: "http://vigil.test", EnterpriseMinInterval: time.Second, SigningKey: bytes.Repeat([]byte{7}, 32),
			TaskDeadline: 30 * time.Second,
		},
		Log: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	o.api = server
	var welcome struct {
		Key  string `json:"api_key"`
		User struct{ ID uuid.UUID }
		Org  struct{ ID uuid.UUID } `json:"organization"`
	}
	o.call(t, http.MethodPost, "/v1/auth/quick-signup", map[string]any{"email": "ada@example.com", "org_name": "Harbor"}, &welcome)
	o.key, o.org, o.user = welcome.Key, welcome.Org.ID, welcome.User.ID
	if err := o.store.SetTier(t.Context(), o.org, vigil.TierPaid); err != nil {
		t.Fatal(err)
	}
	o.works(t, "eu-central-fra", "na-east-ewr")
	o.serve(t)
	return o
}

// serve starts the dashboard, whose every request is of the user.
func (o *office) serve(t *testing.T) {
	t.Helper()
	user, err := o.store.User(t.Context(), o.user)
	if err != nil {
		t.Fatal(err)
	}
	pages, err := web.New(web.Deps{
		API: o.api, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Now: time.Now,
		ActAs: func(ctx context.Context, who web.Identity) context.Context {
			return rest.ActAs(ctx, who.UserID, who.Version)
		},
		SignedIn: func(*http.Request) (web.Identity, bool) {
			return web.Identity{UserID: o.user, Version: user.SessionVersion}, true
		},
		Config: web.Config{PublicURL: "http://vigil.test"},
	})
	if err != nil {
		t.Fatal(err)
	}
	listener := httptest.NewServer(pages)
	t.Cleanup(listener.Close)
	o.url, o.client = listener.URL, listener.Client()
	o.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
}

// works lets a worker of the regions report, for an hour.
func (o *office) works(t *testing.T, regions ...string) {
	t.Helper()
	if _, err := o.store.RenewLease(t.Context(), vigil.Renewal{Worker: "w", Regions: regions}); err != nil {
		t.Fatal(err)
	}
	later := "UPDATE worker_leases SET renewed_at = renewed_at + interval '1 hour'"
	if _, err := o.store.DB().NewRaw(later).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// call calls the API with the user's key, and reads data of the answer.
func (o *office) call(t *testing.T, method, path string, body, into any) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequestWithContext(t.Context(), method, path, bytes.NewReader(text))
	req.Header.Set("Content-Type", "application/json")
	if o.key != "" {
		req.Header.Set("Authorization", "Bearer "+o.key)
	}
	answer := httptest.NewRecorder()
	o.api.ServeHTTP(answer, req)
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

// get opens a page.
func (o *office) get(t *testing.T, path string) *opened {
	t.Helper()
	return o.open(t, http.MethodGet, path, nil)
}

func (o *office) open(t *testing.T, method, path string, values url.Values) *opened {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, o.url+path, strings.NewReader(values.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	res, err := o.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	root, err := html.ParseWithOptions(bytes.NewReader(text), html.ParseOptionEnableScripting(false))
	if err != nil {
		t.Fatal(err)
	}
	p := &opened{office: o, path: path, status: res.StatusCode, location: res.Header.Get("Location"), root: root, raw: string(text)}
	for _, cookie := range res.Cookies() {
		p.cookies = append(p.cookies, cookie.Name)
	}
	p.read()
	return p
}

// noLoops starts no loop, and probes at once for a test by hand.
type noLoops struct{ probes *probe.Registry }

func (noLoops) Apply(context.Context, vigil.Loop) error                    { return nil }
func (noLoops) Stop(context.Context, uuid.UUID, string, int64) error       { return nil }
func (noLoops) State(context.Context, uuid.UUID, string) (vigil.LoopState, error) {
	return vigil.LoopState{}, vigil.Errorf(vigil.CodeUnavailable, "The loop does not answer.")
}

func (l noLoops) Test(ctx context.Context, check vigil.Check, region string, _ bool) (vigil.Result, error) {
	if region != "eu-central-fra" {
		return vigil.Result{}, vigil.Errorf(vigil.CodeUnavailable, "No worker polls this region.")
	}
	parsed, err := l.probes.Parse(check.Type, check.Config, check.Interval)
	if err != nil {
		return vigil.Result{}, err
	}
	return vigil.Result{ID: uuid.New(), CheckID: check.ID, Region: region, Slot: time.Now(), Observation: parsed.Run(ctx)}, nil
}

// noIncidents are the workflows of incidents, of which there are none.
type noIncidents struct{}

func (noIncidents) Acknowledge(context.Context, vigil.UserAction) (vigil.Incident, error) {
	return vigil.Incident{}, vigil.NotFound("incident")
}

func (noIncidents) Resolve(context.Context, vigil.UserAction) (vigil.Incident, error) {
	return vigil.Incident{}, vigil.NotFound("incident")
}
func (noIncidents) Redeliver(context.Context, uuid.UUID, uuid.UUID) error { return nil }
func (noIncidents) Refresh(context.Context, uuid.UUID) error             { return nil }
