// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"database/sql"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	temporal "go.temporal.io/sdk/client"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// target is an HTTP server that records the times of requests, and can be made to fail.
type target struct {
	*httptest.Server
	broken atomic.Bool
	says   atomic.Pointer[string] // what it answers at length while it fails; nil: nothing

	mu   sync.Mutex
	hits map[string][]time.Time // by path
}

func newTarget(t *testing.T) *target {
	t.Helper()
	s := &target{hits: make(map[string][]time.Time)}
	s.Server = httptest.NewServer(http.HandlerFunc(s.answer))
	t.Cleanup(s.Close)
	return s
}

func (s *target) answer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.hits[r.URL.Path] = append(s.hits[r.URL.Path], time.Now())
	n := len(s.hits[r.URL.Path])
	s.mu.Unlock()
	said := s.says.Load()
	switch {
	case !s.broken.Load():
	case said == nil:
		w.WriteHeader(http.StatusServiceUnavailable)
	default: // each failure is another one, so that it has its evidence
		w.Header().Set("X-Says", (*said)[:min(4000, len(*said))])
		w.WriteHeader(http.StatusInternalServerError + n%12)
		_, _ = io.WriteString(w, *said)
	}
}

func (s *target) count(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.hits[path])
}

// check and result are the members of the API's objects that the tests read.
type check struct {
	ID           string `json:"id"`
	HealthStatus string `json:"health_status"`
}

type result struct {
	Region  string    `json:"region"`
	Success bool      `json:"success"`
	Time    time.Time `json:"time"`
}

func httpCheck(name, target string, seconds int, regions ...string) map[string]any {
	return map[string]any{
		"name": name, "type": "http", "interval_seconds": seconds, "regions": regions,
		"config": map[string]any{"url": target},
	}
}

func TestLoop(t *testing.T) { // the subtests are the life of one check, in order
	timingtest.Parallel(t)
	p, c := shared(t)
	db := openDatabase(t, common.dsn(t))
	site := newTarget(t)

	var made check
	began := time.Now()
	c.into(&made, http.MethodPost, "/v1/checks", httpCheck("shop", site.URL+"/shop", 1, "eu-central-fra", "na-east-ewr"))
	path := "/v1/checks/" + made.ID
	eventually(t, "the first result is there", func() bool { return len(resultsOf(c, path)) > 0 })
	t.Logf("first result %v after the request to create the check", time.Since(began).Round(time.Millisecond))

	probeTogether(t, c, path)
	eventually(t, "the check is healthy", func() bool {
		c.into(&made, http.MethodGet, path, nil)
		return made.HealthStatus == "healthy"
	})

	t.Run("FollowsAnUpdate", func(t *testing.T) {
		c.into(nil, http.MethodPut, path, map[string]any{"config": map[string]any{"url": site.URL + "/moved"}, "interval_seconds": 2})
		eventually(t, "the new path is probed by both regions", func() bool { return site.count("/moved") >= 4 })
	})
	t.Run("PausesAndResumes", func(t *testing.T) {
		c.into(nil, http.MethodPut, path, map[string]any{"enabled": false})
		eventually(t, "no loop runs", func() bool { return running(t, p, made.ID) == 0 })
		before := site.count("/moved")
		c.into(nil, http.MethodPut, path, map[string]any{"enabled": true})
		eventually(t, "probing resumes", func() bool { return site.count("/moved") >= before+4 })
	})
	t.Run("SurvivesBeingDisabledAndEnabledAtOnce", func(t *testing.T) {
		for range 5 {
			c.into(nil, http.MethodPut, path, map[string]any{"enabled": false})
			c.into(nil, http.MethodPut, path, map[string]any{"enabled": true})
		}
		before := site.count("/moved")
		eventually(t, "both loops go on", func() bool { return site.count("/moved") >= before+6 && running(t, p, made.ID) == 2 })
	})
	t.Run("RunsATestOnDemand", func(t *testing.T) {
		var tested result
		for range 3 { // one may time out on a busy machine
			c.into(&tested, http.MethodPost, path+"/test?region=na-east-ewr", nil)
			if tested.Success {
				break
			}
		}
		if !tested.Success || tested.Region != "na-east-ewr" {
			t.Errorf("test result %+v", tested)
		}
	})
	t.Run("LeavesNothingWhenDeleted", func(t *testing.T) {
		c.into(nil, http.MethodDelete, path, nil)
		eventually(t, "no workflow is left", func() bool { return running(t, p, made.ID) == 0 })
		eventually(t, "no row is left", func() bool { return rowsOf(t, db, made.ID) == 0 })
		if a := c.do(http.MethodGet, path, nil); a.Status != http.StatusNotFound {
			t.Errorf("GET after DELETE: %d", a.Status)
		}
	})
}

// probeTogether waits until two regions have ten good results each, and fails the
// test when they do not probe at the same time.
func probeTogether(t *testing.T, c client, path string) {
	t.Helper()
	// On a busy machine a few probes may time out.
	failed := 0
	eventually(t, "both regions have ten good results", func() bool {
		perRegion := map[string]int{}
		failed = 0
		for _, r := range resultsOf(c, path) {
			if r.Success {
				perRegion[r.Region]++
			} else {
				failed++
			}
		}
		return perRegion["eu-central-fra"] >= 10 && perRegion["na-east-ewr"] >= 10
	})
	if failed > 5 {
		t.Errorf("%d results failed beside the twenty good ones", failed)
	}
	spread := lowSpread(resultsOf(c, path))
	// Without a common grid they are up to half an interval apart.
	figure(t, "two regions apart at the same slot, lower quartile", spread, 50*time.Millisecond, 0)
	if spread > 250*time.Millisecond {
		t.Errorf("the regions probe %v apart at the lower quartile: not at the same instants", spread)
	}
}

func resultsOf(c client, path string) []result {
	c.t.Helper()
	var results []result
	c.into(&results, http.MethodGet, path+"/results?limit=1000", nil)
	return results
}

// lowSpread returns the lower quartile of the time between probes of different
// regions for the same slot. Without a common grid all of them would be far apart;
// a busy machine delays only some.
func lowSpread(results []result) time.Duration {
	slices.SortFunc(results, func(a, b result) int { return a.Time.Compare(b.Time) })
	var spreads []time.Duration
	for i := 1; i < len(results); i++ {
		if gap := results[i].Time.Sub(results[i-1].Time); results[i].Region != results[i-1].Region && gap < 500*time.Millisecond {
			spreads = append(spreads, gap)
		}
	}
	if len(spreads) == 0 {
		return time.Hour
	}
	slices.Sort(spreads)
	return spreads[len(spreads)/4]
}

// running returns the number of open workflows of a check in Temporal.
func running(t *testing.T, p *process, checkID string) int {
	t.Helper()
	c := dialTemporal(t, p.ready.TemporalAddress, p.ready.Namespace)
	defer c.Close()
	n := 0
	for _, region := range []string{"eu-central-fra", "na-east-ewr"} {
		d, err := c.DescribeWorkflowExecution(t.Context(), "check/"+checkID+"/"+region, "")
		if err == nil && d.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
			n++
		}
	}
	return n
}

type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}

// dialTemporal connects to Temporal.
func dialTemporal(t *testing.T, address, namespace string) temporal.Client {
	t.Helper()
	c, err := temporal.Dial(temporal.Options{
		HostPort: address, Namespace: namespace, Logger: silent{},
		ConnectionOptions: temporal.ConnectionOptions{TLS: temporalTLS(t, address)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// rowsOf counts the rows of a check in all tables with a check_id, except its tombstones and the
// events of the stream, which outlive it.
func rowsOf(t *testing.T, db *sql.DB, checkID string) int {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), `select quote_ident(table_name) from information_schema.columns
		where table_schema = 'public' and column_name = 'check_id' and table_name not in ('loop_tombstones', 'events')`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	total := 0
	for rows.Next() {
		var table string
		if err := rows.Scan(&table); err != nil {
			t.Fatal(err)
		}
		var n int
		if err := db.QueryRowContext(t.Context(), "select count(*) from "+table+" where check_id = $1", checkID).Scan(&n); err != nil {
			t.Fatal(err)
		}
		total += n
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return total
}

func TestCrash(t *testing.T) {
	timingtest.Parallel(t)
	dir := dataDir(t)
	p := up(t, dir, "VIGIL_REGIONS=eu-central-fra")
	key := p.ready.APIKey
	site := newTarget(t)
	var fast, slow check
	c := client{t: t, url: p.ready.APIURL, key: key}
	c.into(&fast, http.MethodPost, "/v1/checks", httpCheck("fast", site.URL+"/fast", 1, "eu-central-fra"))
	c.into(&slow, http.MethodPost, "/v1/checks", httpCheck("slow", site.URL+"/slow", 10, "eu-central-fra"))
	eventually(t, "both are probed", func() bool { return site.count("/fast") > 2 && site.count("/slow") > 0 })

	stored := len(resultsOf(c, "/v1/checks/"+fast.ID)) // the probe in flight may be lost, a stored result may not
	p.kill()
	before := map[string]int{"/fast": site.count("/fast"), "/slow": site.count("/slow")}
	began := time.Now()
	p = up(t, dir, "VIGIL_REGIONS=eu-central-fra")
	if p.ready.APIKey != "" {
		t.Error("a second start printed a key")
	}
	t.Logf("ready again %v after kill -9", time.Since(began).Round(time.Millisecond))
	eventually(t, "probing resumes by itself", func() bool {
		return site.count("/fast") > before["/fast"] && site.count("/slow") > before["/slow"]
	})
	t.Logf("every check probed again %v after the start", time.Since(began).Round(time.Millisecond))
	c = client{t: t, url: p.ready.APIURL, key: key}
	if n := len(resultsOf(c, "/v1/checks/"+fast.ID)); n < stored || stored == 0 {
		t.Errorf("%d results are left of %d before the crash", n, stored)
	}
	p.stop()
}

func TestTemporalUnavailable(t *testing.T) {
	timingtest.Parallel(t)
	dsn, dir := database(t), dataDir(t)
	address := freeAddress(t)
	server := []string{
		"DATABASE_URL=" + dsn, "VIGIL_TEMPORAL_LISTEN=" + address,
		"VIGIL_UI_LISTEN=127.0.0.1:0", "VIGIL_DATA_DIR=" + dataDir(t),
	}
	temporalServer := start(t, server, "temporal", "--json")
	p := up(t, dir, "DATABASE_URL="+dsn, "TEMPORAL_ADDRESS="+address, "VIGIL_REGIONS=eu-central-fra")
	c := client{t: t, url: p.ready.APIURL, key: p.ready.APIKey}
	site := newTarget(t)

	temporalServer.kill()
	var made check
	c.into(&made, http.MethodPost, "/v1/checks", httpCheck("later", site.URL+"/later", 1, "eu-central-fra"))
	if site.count("/later") > 0 {
		t.Fatal("the check was probed without Temporal")
	}
	start(t, server, "temporal", "--json")
	eventually(t, "the loop starts without a further request", func() bool { return site.count("/later") > 2 })
}
