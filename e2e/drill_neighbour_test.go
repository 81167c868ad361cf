// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// What the drill asks for. In a test of each commit it is smaller.
type neighbourLoad struct{ checks, reads, lists, streams, slow int }

// TestDrillNeighbour: one organization asks for all it can, with long lists, backtests, figures,
// open pages and clients that do not read, while another one reads its checks. Its reads must
// not take twice as long as alone.
func TestDrillNeighbour(t *testing.T) { // not parallel: it takes the whole machine
	load := neighbourLoad{checks: 2000, reads: 60, lists: 100, streams: 20, slow: 40}
	if full() {
		load = neighbourLoad{checks: 10_000, reads: 450, lists: 2000, streams: 100, slow: 200}
	}
	dsn := database(t)
	p := up(t, dataDir(t), "DATABASE_URL="+dsn, "VIGIL_REGIONS="+clusterRegion, "VIGIL_ENTERPRISE_RATE=0")
	loud := client{t: t, url: p.ready.APIURL, key: p.ready.APIKey}
	var made check
	loud.into(&made, http.MethodPost, "/v1/checks", httpCheck("check 0", "http://127.0.0.1:9/", 60, clusterRegion))
	copyCheck(t, dsn, made.ID, load.checks)
	var account struct {
		APIKey string `json:"api_key"`
	}
	quiet := client{t: t, url: p.ready.APIURL}
	quiet.into(&account, http.MethodPost, "/v1/auth/quick-signup", map[string]any{"email": "quiet@vigil.test", "org_name": "Quiet"})
	quiet.key = account.APIKey
	for n := range 20 {
		quiet.into(nil, http.MethodPost, "/v1/checks", httpCheck(fmt.Sprint("quiet ", n), "http://127.0.0.1:9/", 3600, clusterRegion))
	}

	after := func(reads int) bool { return reads >= load.reads }
	quiet.timeReads(func(reads int) bool { return reads >= 10 }) // what is prepared once is prepared
	alone := quiet.timeReads(after)
	noise, began := newNoise(t, p, loud, made.ID, load), time.Now()
	beside := quiet.timeReads(func(reads int) bool {
		return after(reads) && (noise.lists.Load() >= int64(load.lists) || time.Since(began) > 4*time.Minute)
	})
	noise.stop()
	lists, served := noise.lists.Load(), noise.served.Load()
	t.Logf("p99 of a read alone %v, beside %v; meanwhile %d lists and %d other answers of the other organization",
		alone.Round(100*time.Microsecond), beside.Round(100*time.Microsecond), lists, served)
	if lists < int64(load.lists) {
		t.Errorf("only %d lists were answered meanwhile, want %d", lists, load.lists)
	}
	allowance := 1000.0 // a machine that does something else as well says little about a few reads
	if full() {
		allowance = 0
	}
	figure(t, "p99 of a read beside a loud organization, percent of that alone", 100*float64(beside)/float64(alone), 200, allowance)
}

// copyCheck stores copies of a check, disabled, until its organization has that many.
func copyCheck(t *testing.T, dsn, id string, checks int) {
	t.Helper()
	db := openDatabase(t, dsn)
	var columns string
	if err := db.QueryRowContext(t.Context(), `SELECT string_agg(quote_ident(column_name), ', ') FROM information_schema.columns
		WHERE table_schema = 'public' AND table_name = 'checks' AND is_generated = 'NEVER'`).Scan(&columns); err != nil {
		t.Fatal(err)
	}
	_, err := db.ExecContext(t.Context(), `INSERT INTO checks (`+columns+`) SELECT `+columns+` FROM (
		SELECT (jsonb_populate_record(c, jsonb_build_object(
			'id', gen_random_uuid(), 'name', 'check ' || n, 'enabled', false, 'target', 'host-' || n || '.example',
			'labels', jsonb_build_object('team', 'team' || n % 10)))).*
		FROM checks AS c, generate_series(1, $2::int - 1) AS n WHERE c.id = $1::uuid) AS copied`, id, checks)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "ANALYZE checks"); err != nil {
		t.Fatal(err)
	}
}

// pace is the time between two reads of the quiet organization, whose rate is limited.
const pace = 80 * time.Millisecond

// timeReads reads pages of checks and of incidents until enough says so, and returns the 99th
// percentile of how long one takes.
func (c client) timeReads(enough func(reads int) bool) time.Duration {
	c.t.Helper()
	var took []time.Duration
	for n := 0; !enough(n); n++ {
		time.Sleep(pace) // sleep: a reader of a page is no loop of requests
		began := time.Now()
		path := "/v1/checks?limit=100"
		if n%2 == 1 {
			path = "/v1/incidents?limit=100"
		}
		if a := c.do(http.MethodGet, path, nil); a.Status != http.StatusOK {
			c.t.Fatalf("GET %s: %d %s", path, a.Status, a.Error)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)*99/100]
}

// noise is what one organization asks for meanwhile.
type noise struct {
	lists, served atomic.Int64
	end           context.CancelFunc
	ended         sync.WaitGroup
}

// newNoise starts all of it and returns once the first lists are answered.
func newNoise(t *testing.T, p *process, c client, checkID string, load neighbourLoad) *noise {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	n := &noise{end: cancel}
	web := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	ask := func(method, path, body string) bool {
		req, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(body))
		if err != nil {
			return false
		}
		req.Header.Set("Authorization", "Bearer "+c.key)
		req.Header.Set("Content-Type", "application/json")
		res, err := web.Do(req)
		if err != nil {
			return false
		}
		defer func() { _ = res.Body.Close() }()
		_, _ = io.Copy(io.Discard, res.Body)
		return res.StatusCode == http.StatusOK
	}
	repeat := func(times int, do func(i int)) {
		for range times {
			n.ended.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					do(i)
				}
			})
		}
	}
	repeat(16, func(i int) { // as many at a time as a program with a pool of connections asks for
		sort := []string{"name", "-name", "created_at", "-created_at"}[i%4]
		query := fmt.Sprintf("/v1/checks?limit=100&sort=%s&query=host-&label=team%%3Dteam%d&offset=%d", sort, i%10, i*100%(load.checks/10))
		if i%3 == 0 {
			query = fmt.Sprintf("/v1/checks?limit=100&summary=true&sort=%s&offset=%d", sort, load.checks-200)
		}
		if ask(http.MethodGet, query, "") {
			n.lists.Add(1)
		}
	})
	others := func(i int) {
		path, body, method := "/v1/metrics", "", http.MethodGet
		if i%2 == 0 {
			method, path = http.MethodPost, "/v1/checks/"+checkID+"/alerts/backtest"
			body = `{"rules":[{"condition":{"failure_threshold":1}},{"condition":{"failure_threshold":3}}],"actual":true}`
		}
		if ask(method, path, body) {
			n.served.Add(1)
		}
		time.Sleep(10 * time.Millisecond) // sleep: they are refused while too many are under way
	}
	repeat(8, others)
	n.openStreams(t, ctx, p, checkID, load.streams)
	n.openSlowly(t, ctx, c, load.slow)
	eventually(t, "the first lists are answered", func() bool { return n.lists.Load() > 16 })
	return n
}

// openStreams opens pages of the dashboard that change by themselves.
//
//nolint:revive // t first, as everywhere here
func (n *noise) openStreams(t *testing.T, ctx context.Context, p *process, checkID string, streams int) {
	t.Helper()
	browser := operatorBrowser(t, p) //nolint:contextcheck // it has the test's
	browser.Timeout = 0
	for range streams {
		n.ended.Go(func() {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.ready.APIURL+"/app/stream?page=checks&rows="+checkID, nil)
			if err != nil {
				return
			}
			if res, err := browser.Do(req); err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
			}
		})
	}
}

// openSlowly makes requests for long lists whose answers are read a byte at a time.
//
//nolint:revive // as above
func (n *noise) openSlowly(t *testing.T, ctx context.Context, c client, clients int) {
	t.Helper()
	for range clients {
		conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://")) //nolint:noctx // closed below
		if err != nil {
			t.Fatal(err)
		}
		n.ended.Go(func() {
			defer func() { _ = conn.Close() }()
			reader := bufio.NewReaderSize(conn, 16)
			for ctx.Err() == nil {
				_, err := fmt.Fprintf(conn, "GET /v1/checks?limit=100 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", c.key)
				if err != nil {
					return
				}
				select {
				case <-ctx.Done():
				case <-time.After(100 * time.Millisecond):
				}
				_, _ = reader.ReadByte()
			}
		})
	}
}

func (n *noise) stop() {
	n.end()
	n.ended.Wait()
}
