// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/uptrace/bun"

	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/api/apitest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// How the throughput is measured: rounds of one side and the other in turn, so
// that both meet the same noise.
const (
	benchClients = 8
	benchRounds  = 4
	benchRound   = 1500 * time.Millisecond
)

// BenchmarkThroughput compares the API with a bare net/http handler that runs
// the very same SQL through pgx, in the same run and on the same database:
//
//	go test ./api -run '^$' -bench Throughput -benchtime 1x
func BenchmarkThroughput(b *testing.B) {
	bench := newThroughput(b)
	b.Run("GET /v1/checks", func(b *testing.B) {
		for b.Loop() {
			bench.compare(b, http.MethodGet, "/v1/checks", nil, bench.bareList(b))
		}
	})
	b.Run("POST /v1/checks", func(b *testing.B) {
		body, _ := json.Marshal(newCheck(with("enabled", false)))
		for b.Loop() {
			bench.compare(b, http.MethodPost, "/v1/checks", body, bench.bareCreate(b, body))
		}
	})
}

// throughput is an API with one enterprise organization of 50 checks.
type throughput struct {
	address string
	key     string
	pool    *pgxpool.Pool
	watch   *statements
}

func newThroughput(b *testing.B) *throughput {
	b.Helper()
	dsn := storagetest.DSN(b)
	store := storagetest.Open(b, dsn)
	guard := egress.New(egress.Policy{AllowPrivate: true})
	server, err := api.New(api.Deps{
		Stores:    apitest.Stores(store),
		Loops:     &loopRecorder{},
		Probes:    probe.NewRegistry(guard),
		Channels:  notify.NewRegistry(guard),
		Incidents: &incidentStub{store: store},
		Config:    api.Config{SigningKey: make([]byte, 32), SignupTier: account.TierEnterprise, EnterpriseMinInterval: time.Second},
		Now:       time.Now,
	})
	if err != nil {
		b.Fatal(err)
	}
	listener := httptest.NewServer(server)
	pool, err := pgxpool.New(b.Context(), dsn)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		listener.Close()
		server.Close()
		pool.Close()
	})
	bench := &throughput{address: listener.URL, pool: pool, watch: &statements{}}
	signup := bench.send(b, http.MethodPost, "/v1/auth/quick-signup", []byte(`{"email":"bench@example.com"}`))
	var made struct {
		Data struct {
			APIKey string `json:"api_key"`
		} `json:"data"`
	}
	if err := json.Unmarshal(signup, &made); err != nil {
		b.Fatal(err)
	}
	bench.key = made.Data.APIKey
	body, _ := json.Marshal(newCheck())
	for range 50 {
		bench.send(b, http.MethodPost, "/v1/checks", body)
	}
	store.DB().AddQueryHook(bench.watch) //nolint:staticcheck // its successor makes another DB, and the store keeps the one it has
	return bench
}

func (t *throughput) send(b *testing.B, method, path string, body []byte) []byte {
	b.Helper()
	status, answer, err := exchange(b.Context(), http.DefaultClient, method, t.address+path, t.key, body)
	if err != nil || status >= http.StatusBadRequest {
		b.Fatalf("%s %s: %d %s %v", method, path, status, answer, err)
	}
	return answer
}

func exchange(ctx context.Context, c *http.Client, method, address, key string, body []byte) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(string(body)))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("X-API-Key", key)
	}
	res, err := c.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	return res.StatusCode, answer, err
}

// statements records the SQL of a request.
type statements struct {
	mu   sync.Mutex
	on   bool
	seen []string
}

func (s *statements) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (s *statements) AfterQuery(_ context.Context, event *bun.QueryEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.on {
		s.seen = append(s.seen, event.Query)
	}
}

// of returns the SQL that a request runs, without what answers in the
// background.
func (t *throughput) of(b *testing.B, method, path string, body []byte) []string {
	b.Helper()
	t.send(b, http.MethodGet, "/v1/checks", nil) // the credential is known now
	t.watch.mu.Lock()
	t.watch.on, t.watch.seen = true, nil
	t.watch.mu.Unlock()
	t.send(b, method, path, body)
	t.watch.mu.Lock()
	defer t.watch.mu.Unlock()
	t.watch.on = false
	if end := slices.Index(t.watch.seen, "COMMIT"); end >= 0 {
		return t.watch.seen[:end+1]
	}
	return t.watch.seen
}

// bareCheck is a row of checks, and what is shown of it.
type bareCheck struct {
	ID           uuid.UUID       `db:"id" json:"id"`
	OrgID        uuid.UUID       `db:"org_id" json:"org_id"`
	Name         string          `db:"name" json:"name"`
	Type         string          `db:"type" json:"type"`
	Config       json.RawMessage `db:"config" json:"config"`
	IntervalMS   int64           `db:"interval_ms" json:"interval_seconds"`
	Regions      []string        `db:"regions" json:"regions"`
	Enabled      bool            `db:"enabled" json:"enabled"`
	Simultaneous bool            `db:"simultaneous" json:"simultaneous_regions"`
	Health       string          `db:"health" json:"health_status"`
	LastChecked  *time.Time      `db:"last_checked" json:"last_checked"`
	ExpiresAt    *time.Time      `db:"expires_at" json:"expires_at"`
	CreatedAt    time.Time       `db:"created_at" json:"created_at"`
	UpdatedAt    time.Time       `db:"updated_at" json:"updated_at"`
	Target       string          `db:"target" json:"-"`
	Anchor       time.Time       `db:"anchor" json:"-"`
	Revision     int64           `db:"revision" json:"-"`
	ChangedAt    time.Time       `db:"changed_at" json:"-"`
}

// bareList answers a list of checks as plainly as it can be done.
func (t *throughput) bareList(b *testing.B) http.HandlerFunc {
	b.Helper()
	queries := t.of(b, http.MethodGet, "/v1/checks", nil)
	if len(queries) != 2 {
		b.Fatalf("a list runs %d queries: %q", len(queries), queries)
	}
	return func(w http.ResponseWriter, r *http.Request) {
		rows, err := t.pool.Query(r.Context(), queries[0])
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		all, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByNameLax[bareCheck])
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		var total int
		if err := t.pool.QueryRow(r.Context(), queries[1]).Scan(&total); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"data": all, "meta": map[string]any{"total": fmt.Sprint(total)}})
	}
}

// bareCreate creates a check with the statements of the API, in which only the
// ids of what is made are others each time.
func (t *throughput) bareCreate(b *testing.B, body []byte) http.HandlerFunc {
	b.Helper()
	queries := t.of(b, http.MethodPost, "/v1/checks", body)
	var own []string // ids that each creation has of its own
	for _, query := range queries {
		if strings.HasPrefix(query, `INSERT INTO "checks"`) || strings.HasPrefix(query, `INSERT INTO "audit_log"`) {
			own = append(own, regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`).FindString(query))
		}
	}
	if len(own) != 2 {
		b.Fatalf("a creation runs: %q", queries)
	}
	return func(w http.ResponseWriter, r *http.Request) {
		var check map[string]any
		if err := json.NewDecoder(r.Body).Decode(&check); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		id := uuid.NewString()
		fresh := strings.NewReplacer(own[0], id, own[1], uuid.NewString())
		conn, err := t.pool.Acquire(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		defer conn.Release()
		for _, query := range queries {
			rows, err := conn.Query(r.Context(), fresh.Replace(query))
			if err == nil {
				rows.Close()
				err = rows.Err()
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
		}
		check["id"] = id
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"data": check})
	}
}

// compare measures both sides and reports requests per second, the 99th
// percentile of their time, and the ratio.
func (t *throughput) compare(b *testing.B, method, path string, body []byte, bare http.HandlerFunc) {
	b.Helper()
	plain := httptest.NewServer(bare)
	defer plain.Close()
	var ours, theirs []time.Duration
	for range benchRounds {
		ours = append(ours, load(b, method, t.address+path, t.key, body)...)
		theirs = append(theirs, load(b, method, plain.URL+path, "", body)...)
	}
	seconds := (benchRounds * benchRound).Seconds()
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(len(ours))/seconds, "vigil-req/s")
	b.ReportMetric(float64(len(theirs))/seconds, "bare-req/s")
	b.ReportMetric(float64(len(ours))/float64(len(theirs)), "ratio")
	b.ReportMetric(percentile99(ours), "vigil-p99-ms")
	b.ReportMetric(percentile99(theirs), "bare-p99-ms")
}

// load sends requests for a round and returns how long each took.
func load(b *testing.B, method, address, key string, body []byte) []time.Duration {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), benchRound)
	defer cancel()
	transport := &http.Transport{MaxIdleConnsPerHost: benchClients}
	defer transport.CloseIdleConnections()
	c := &http.Client{Transport: transport}
	took := make([][]time.Duration, benchClients)
	var group sync.WaitGroup
	for i := range benchClients {
		group.Go(func() {
			for ctx.Err() == nil {
				began := time.Now()
				status, answer, err := exchange(ctx, c, method, address, key, body)
				if ctx.Err() != nil {
					return
				}
				if err != nil || status >= http.StatusBadRequest {
					b.Errorf("%s %s: %d %s %v", method, address, status, answer, err)
					return
				}
				took[i] = append(took[i], time.Since(began))
			}
		})
	}
	group.Wait()
	return slices.Concat(took...)
}

func percentile99(took []time.Duration) float64 {
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return float64(took[len(took)*99/100]) / float64(time.Millisecond)
}
