// SPDX-License-Identifier: Apache-2.0

package statuspage_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
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
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/internal/statuspage"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

const (
	frankfurt = "eu-central-fra"
	singapore = "ap-southeast-sin"
	newark    = "na-east-ewr"
)

// What must never be public.
const (
	secretTarget = "internal-9f3.example.com"
	secretName   = "checkout prod eu"
	secretError  = "connection refused by 10.0.0.7"
	secretNote   = "the on-call engineer slept"
)

// site is a status page in a real database, served by HTTP.
type site struct {
	store *storage.Store
	page  overview.StatusPage
	url   string
	now   func() time.Time
	reads *counted

	server *statuspage.Server
	teller *statuspage.Teller
	outbox outbox

	mu sync.Mutex
	at time.Time
}

// counted counts what is read, and fails on request.
type counted struct {
	statuspage.Store
	reports, days atomic.Int64
	away          atomic.Bool
}

func (c *counted) StatusReport(ctx context.Context, slug string, since time.Time) (overview.StatusReport, error) {
	c.reports.Add(1)
	if c.away.Load() {
		return overview.StatusReport{}, context.DeadlineExceeded
	}
	return c.Store.StatusReport(ctx, slug, since)
}

func (c *counted) StatusDays(
	ctx context.Context, checks []uuid.UUID, from, to time.Time,
) (map[uuid.UUID]map[time.Time]overview.DayCount, error) {
	c.days.Add(1)
	return c.Store.StatusDays(ctx, checks, from, to)
}

// newSite stores a page with services of these names, each with a check in three regions
// whose results are good for 80 days.
func newSite(t *testing.T, names ...string) *site {
	t.Helper()
	s := &site{at: time.Date(2026, 11, 21, 12, 0, 20, 0, time.UTC)}
	s.now = func() time.Time {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.at
	}
	s.store = storagetest.New(t, func(o *storage.Options) { o.Now = s.now })
	_, org, err := s.store.CreateAccount(t.Context(), account.Organization{Name: "Harbor Internal Ltd"},
		account.User{Email: "ada@example.com", Name: "Ada"}, nil)
	ok(t, err)
	s.page = overview.StatusPage{OrgID: org.ID, Slug: "harbor", Title: "Harbor", Enabled: true, Groups: []overview.StatusGroup{{}}}
	for _, name := range names {
		check, err := s.store.CreateCheck(t.Context(), vigil.Check{
			OrgID: org.ID, Name: secretName, Type: vigil.TypeHTTP, Config: json.RawMessage(`{"url": "https://` + secretTarget + `/"}`),
			Target: secretTarget, Interval: time.Minute, Regions: []string{frankfurt, singapore, newark}, Enabled: true, Simultaneous: true,
		}, account.PlanOf(account.TierEnterprise, time.Second), account.Allowance{})
		ok(t, err)
		s.page.Groups[0].Checks = append(s.page.Groups[0].Checks, overview.PublicCheck{CheckID: check.ID, Name: name})
		s.health(t, check.ID, "healthy", frankfurt, singapore, newark)
		s.exec(t, `INSERT INTO result_rollups (check_id, region, hour, total, successes, sum_ms, buckets, counts)
			SELECT ?, ?, h, 60, 60, 6000, '{}', '{}' FROM generate_series(?::timestamptz, ?::timestamptz, interval '1 hour') AS h`,
			check.ID, frankfurt, s.at.AddDate(0, 0, -80).Truncate(time.Hour), s.at.Truncate(time.Hour))
	}
	s.page, err = s.store.CreateStatusPage(t.Context(), s.page)
	ok(t, err)
	s.reads = &counted{Store: s.store}
	keys := [][]byte{[]byte("a key of the tests")}
	s.server, err = statuspage.New(statuspage.Options{
		Store: s.reads, PublicURL: "https://vigil.example.com", Keys: keys, Now: s.now, Log: slog.New(slog.DiscardHandler),
		Network: func(r *http.Request) string { return r.Header.Get("Test-Network") },
		Readers: &statuspage.Readers{
			Store: s.store, CheckEmail: mailAddress, CheckHook: func(string) error { return nil },
			NewSecret: func() (string, error) { return "whsec_c2VjcmV0", nil },
		},
	})
	ok(t, err)
	s.teller = statuspage.NewTeller(statuspage.TellerOptions{
		Store: s.store, PublicURL: "https://vigil.example.com", Tokens: statuspage.Tokens{Keys: keys}, Schedule: vigil.DefaultRetrySchedule(),
		Random: func() float64 { return 0.5 }, Now: s.now, Log: slog.New(slog.DiscardHandler), Send: s.outbox.send,
	})
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if slug := s.server.PageAt(r.Context(), r.Host); slug != "" {
			s.server.ServeHost(w, r, slug)
			return
		}
		s.server.ServeHTTP(w, r)
	}))
	t.Cleanup(listener.Close)
	s.url = listener.URL
	return s
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *site) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	_, err := s.store.DB().NewRaw(query, args...).Exec(t.Context())
	ok(t, err)
}

func (s *site) advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = s.at.Add(d)
}

func (s *site) check(i int) uuid.UUID { return s.page.Groups[0].Checks[i].CheckID }

// health sets the newest result of regions.
func (s *site) health(t *testing.T, check uuid.UUID, health string, regions ...string) {
	t.Helper()
	for _, region := range regions {
		s.exec(t, "UPDATE check_regions SET health = ?, last_slot = ?, last_time = ? WHERE check_id = ? AND region = ?",
			health, s.now(), s.now(), check, region)
	}
}

// watch gives a check a rule that opens an incident when it fails.
func (s *site) watch(t *testing.T, check uuid.UUID) {
	t.Helper()
	channel, err := s.store.CreateChannel(t.Context(), vigil.Channel{
		OrgID: s.page.OrgID, Name: "ops", Type: vigil.ChannelWebhook, Enabled: true, Config: json.RawMessage(`{"url": "http://127.0.0.1:9/"}`),
	})
	ok(t, err)
	_, err = s.store.CreateRule(t.Context(), vigil.Rule{
		OrgID: s.page.OrgID, CheckID: check, Name: "down", Condition: vigil.Condition{FailureThreshold: 3}, Channels: []uuid.UUID{channel.ID},
		NotifyOn: vigil.NotifyBoth, Policy: vigil.AnyRegion, Enabled: true,
	})
	ok(t, err)
}

// incident stores an incident with the key that matched; a zero end leaves it open.
func (s *site) incident(t *testing.T, check uuid.UUID, key string, start, end time.Time, regions ...string) uuid.UUID {
	t.Helper()
	id, status := uuid.New(), "active"
	var resolved *time.Time
	if !end.IsZero() {
		status, resolved = "resolved", &end
	}
	success := key == vigil.KeyResponseTime
	trigger, err := json.Marshal(map[string]any{
		"matched": []string{key}, "failure_count": 3,
		"result": map[string]any{"region": regions[0], "slot": start, "time": start, "success": success, "error": secretError},
	})
	ok(t, err)
	failing := key == vigil.KeyFailureThreshold || key == vigil.KeyHealthStatus
	rule := uuid.New()
	rules, err := json.Marshal([]map[string]any{{
		"id": rule, "name": secretName, "severity": "critical", "since": start, "until": resolved, "opened": true, "beginnings": 1,
		"failing": failing, "slow": success,
	}})
	ok(t, err)
	s.exec(t, `INSERT INTO incidents (id, org_id, check_id, rule_id, status, severity, title, description, trigger, rules, regions, audience,
			started_at, resolved_at, created_at, note, swept_at)
		VALUES (?, ?, ?, ?, ?, 'critical', ?, ?, ?, ?, ?, '[]', ?, ?, ?, ?, ?)`,
		id, s.page.OrgID, check, rule, status, secretName+" is failing", secretError, string(trigger), string(rules),
		"{"+strings.Join(regions, ",")+"}", start, resolved, start, secretNote, start)
	return id
}

// answer is what a reader of the page gets.
type answer struct {
	status int
	header http.Header
	body   string
}

func (s *site) get(t *testing.T, path string, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, http.NoBody)
	ok(t, err)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	ok(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	ok(t, err)
	return answer{status: res.StatusCode, header: res.Header, body: string(body)}
}

// read gets a page that must be there, and holds that nothing private is in it.
func (s *site) read(t *testing.T, path string) string {
	t.Helper()
	a := s.get(t, path)
	if a.status != http.StatusOK {
		t.Fatalf("%s: %d %s", path, a.status, a.body)
	}
	for _, private := range []string{
		secretTarget, secretName, secretError, "10.0.0.7", secretNote, "Internal Ltd", "ada@example.com", frankfurt, singapore, newark,
		"workflow", "region/", s.page.OrgID.String(),
	} {
		if strings.Contains(a.body, private) {
			t.Errorf("%s shows %q", path, private)
		}
	}
	return a.body
}

// has holds that texts are in a page, in this order.
func has(t *testing.T, page string, texts ...string) {
	t.Helper()
	rest := page
	for _, text := range texts {
		_, after, found := strings.Cut(rest, text)
		if !found {
			t.Errorf("%q is not in the page, or not at its place:\n%s", text, page)
			return
		}
		rest = after
	}
}

// digestOf is the source of a script in a policy.
func digestOf(script string) string {
	sum := sha256.Sum256([]byte(script))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
