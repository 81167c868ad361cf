// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/api/accounts"
	"github.com/vigil-monitor/vigil/api/apitest"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// answeredFrom counts where requests were answered.
type answeredFrom struct {
	mu    sync.Mutex
	count map[string]int
}

func (a *answeredFrom) note(_ context.Context, from string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.count == nil {
		a.count = make(map[string]int)
	}
	a.count[from]++
}

// of returns how many requests were answered there.
func (a *answeredFrom) of(from string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.count[from]
}

// total returns how many requests could be answered by the standby.
func (a *answeredFrom) total() (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, count := range a.count {
		n += count
	}
	return n
}

// withStandby gives an API a copy of its database.
func withStandby(copied *storage.Standby, answered *answeredFrom) func(*api.Deps) {
	return func(d *api.Deps) {
		d.Standby = &api.Standby{
			Stores:   apitest.Stores(copied.Store),
			Choose:   func(ctx context.Context) api.StandbyChoice { return api.StandbyChoice(copied.Choose(ctx)) },
			Answered: answered.note,
		}
	}
}

// openStandby opens a copy of the database of an API.
func (b *testServer) openStandby(t *testing.T, dsn string) *storage.Standby {
	t.Helper()
	copied, err := storage.OpenStandby(t.Context(), dsn, b.store, storage.Options{Keys: storagetest.Keys(t), Now: b.clock.Now, MaxConns: 4})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = copied.Close() })
	return copied
}

// readOnly opens a database again so that Postgres refuses each write, as a standby does.
func (b *testServer) readOnly(t *testing.T, dsn string) *storage.Standby {
	t.Helper()
	address, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	query := address.Query()
	query.Set("default_transaction_read_only", "on")
	address.RawQuery = query.Encode()
	return b.openStandby(t, address.String())
}

// readOf is an operation that changes nothing: its path in the document, and an address of it.
type readOf struct{ path, at string }

// allReads are all operations that change nothing and do not end by themselves, of what an organization owns.
func allReads(t *testing.T, owned map[string]string) (all []readOf) {
	t.Helper()
	needed := map[string]string{"/v1/check-groups": "?by=team"} // without which it is refused
	parameter := regexp.MustCompile(`\{(\w+)\}`)
	for path, item := range document(t).Paths.Map() {
		if item.Get == nil || ofAgents(path) || strings.HasPrefix(path, "/v1/stream/") {
			continue
		}
		prefix, _, _ := strings.Cut(path, "/{")
		at := strings.Replace(path, "{id}", owned[prefix], 1)
		at = parameter.ReplaceAllStringFunc(at, func(name string) string { return owned[strings.Trim(name, "{}")] })
		all = append(all, readOf{path, at + needed[path]})
	}
	return all
}

// readable is a platform on a database of its own with an organization that owns one of each kind of thing.
func readable(t *testing.T) (b *testServer, dsn string, owner person, owned map[string]string) {
	t.Helper()
	dsn = storagetest.DSN(t)
	b = setupOn(t, dsn)
	owner = b.signup(t)
	owned = belongings(t, b, owner)
	owner.pingKey(t)
	return b, dsn, owner, owned
}

// TestStandbyAnswersEveryRead asks each operation that changes nothing of a copy that refuses writes: none has to be asked again
// of the database itself, and the answers are those of an API without a copy. So an operation that begins to write, or to lock
// rows, is noticed.
func TestStandbyAnswersEveryRead(t *testing.T) {
	t.Parallel()
	b, dsn, owner, owned := readable(t)
	from := &answeredFrom{}
	reading := b.serve(t, withStandby(b.readOnly(t, dsn), from)).as(owner.key)
	var elsewhere []string
	for _, read := range allReads(t, owned) {
		before := from.total()
		got, want := reading.do(t, http.MethodGet, read.at, nil), owner.do(t, http.MethodGet, read.at, nil)
		if got.status != want.status || got.status >= http.StatusBadRequest && read.path != "/ready" { // which no worker has made ready
			t.Errorf("GET %s: %d, and %d without a standby: %s", read.at, got.status, want.status, got.raw)
		}
		if from.total() == before {
			elsewhere = append(elsewhere, read.path)
		}
	}
	if from.of(api.FromPrimaryAgain) > 0 || from.of(api.FromStandby) == 0 {
		t.Errorf("answered from %v", from.count)
	}
	slices.Sort(elsewhere)
	if want := []string{"/", "/health", "/ready"}; !slices.Equal(elsewhere, want) { // of the process
		t.Errorf("%v are not read from the standby, want %v", elsewhere, want)
	}
}

// TestStandbyAnswersEveryReadAlone asks each of them while the database itself is gone, in a platform whose mail leaves it: none
// depends on it, and what belongs to the organization is not found by another one.
func TestStandbyAnswersEveryReadAlone(t *testing.T) {
	t.Parallel()
	b, dsn, owner, owned := readable(t)
	stranger := b.signup(t)
	gone := storagetest.Open(t, dsn)
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	_, mailing := withMail(t)
	copied := b.readOnly(t, dsn)
	alone := b.serve(t, mailing, func(d *api.Deps) {
		d.Stores = apitest.Stores(gone)
		d.Standby = &api.Standby{
			Stores: apitest.Stores(copied.Store),
			Choose: func(context.Context) api.StandbyChoice { return api.StandbyChoice{Standby: true, Alone: true} },
		}
	})
	for _, read := range allReads(t, owned) {
		if !strings.HasPrefix(read.path, "/v1/") {
			continue // of the process
		}
		got := alone.as(owner.key).do(t, http.MethodGet, read.at, nil)
		if got.status != http.StatusOK || got.header.Get("Vigil-As-Of") != "unknown" {
			t.Errorf("GET %s: %d %v: %s", read.at, got.status, got.header, got.raw)
		}
		if strings.Contains(read.path, "{") {
			if got := alone.as(stranger.key).do(t, http.MethodGet, read.at, nil); got.status != http.StatusNotFound {
				t.Errorf("GET %s by another organization: %d: %s", read.at, got.status, got.raw)
			}
		}
	}
}

// TestReadsFromStandby holds that an API sees through a real standby what it has written, and goes on to answer reads, marked,
// when the database is lost.
func TestReadsFromStandby(t *testing.T) {
	t.Parallel()
	primary := storagetest.StartCluster(t, "fsync=off")
	b := onDatabase(t, primary.DSN("postgres"))
	if _, err := b.store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	from := &answeredFrom{}
	copied := b.openStandby(t, primary.StartStandby(t).DSN("postgres"))
	b.client = b.serve(t, withStandby(copied, from))
	a, stranger := b.signup(t), b.signup(t)
	var last string
	for range 50 {
		last = "/v1/checks/" + text(a.check(t), "id")
		if header := a.want(t, http.StatusOK, http.MethodGet, last, nil).header.Get("Vigil-As-Of"); header != "" {
			t.Errorf("an answer with all that was written is marked: %s", header)
		}
	}
	if from.of(api.FromStandby) == 0 || from.of(api.FromPrimaryAgain) != 0 {
		t.Errorf("answered from %v", from.count)
	}
	stranger.want(t, http.StatusNotFound, http.MethodGet, last, nil)
	revoked := a.want(t, http.StatusCreated, http.MethodPost, "/v1/api-keys", map[string]any{"name": "short"}).data(t)
	with := a.as(text(revoked, "api_key"))
	with.want(t, http.StatusOK, http.MethodGet, last, nil)
	a.want(t, http.StatusNoContent, http.MethodDelete, "/v1/api-keys/"+text(revoked, "id"), nil)
	with.want(t, http.StatusUnauthorized, http.MethodGet, last, nil)
	unknown, _, err := accounts.NewKey("unknown")
	if err != nil {
		t.Fatal(err)
	}
	b.as(unknown).want(t, http.StatusUnauthorized, http.MethodGet, last, nil)
	asked := from.total()
	b.want(t, http.StatusUnauthorized, http.MethodGet, last, nil)
	if from.total() != asked {
		t.Error("a request without a credential asked where to read")
	}

	primary.Stop(t)
	b.clock.Advance(5 * time.Second) // what is known of credentials is read again
	got := a.want(t, http.StatusOK, http.MethodGet, last, nil)
	if _, err := time.Parse(time.RFC3339, got.header.Get("Vigil-As-Of")); err != nil {
		t.Errorf("the answer is not marked: %v", got.header)
	}
	stranger.want(t, http.StatusNotFound, http.MethodGet, last, nil)
	with.want(t, http.StatusUnauthorized, http.MethodGet, last, nil)
	b.want(t, http.StatusUnauthorized, http.MethodGet, last, nil)
	b.as(unknown).want(t, http.StatusUnauthorized, http.MethodGet, last, nil)
	a.want(t, http.StatusServiceUnavailable, http.MethodPost, "/v1/checks", newCheck())
	for range rest.SessionRate {
		if got = a.do(t, http.MethodGet, last, nil); got.status != http.StatusOK {
			break
		}
	}
	if got.status != http.StatusTooManyRequests || got.header.Get("Retry-After") == "" {
		t.Errorf("%d after more requests than a minute has: %s", got.status, got.raw)
	}
	primary.Start(t)
	b.clock.Advance(time.Minute)
	eventually(t, "checks are created again", func() bool {
		b.clock.Advance(time.Second)
		return a.do(t, http.MethodPost, "/v1/checks", newCheck()).status == http.StatusCreated
	})
	if header := a.want(t, http.StatusOK, http.MethodGet, last, nil).header.Get("Vigil-As-Of"); header != "" {
		t.Errorf("an answer is marked when the database is back: %s", header)
	}
}

// TestStandbyThatFails holds that a standby that cannot answer costs no answer.
func TestStandbyThatFails(t *testing.T) {
	t.Parallel()
	from := &answeredFrom{}
	broken := func(d *api.Deps) {
		closed := storagetest.Open(t, storagetest.EmptyDSN(t)) // without any table
		d.Standby = &api.Standby{
			Stores:   apitest.Stores(closed),
			Choose:   func(context.Context) api.StandbyChoice { return api.StandbyChoice{Standby: true} },
			Answered: from.note,
		}
	}
	b := setup(t, broken)
	a := b.signup(t)
	check := text(a.check(t), "id")
	got := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks/"+check, nil)
	if text(got.data(t), "id") != check || len(got.header.Values("X-Request-Id")) != 1 {
		t.Errorf("%v %s", got.header, got.raw)
	}
	if from.of(api.FromPrimaryAgain) == 0 {
		t.Errorf("answered from %v", from.count)
	}
}
