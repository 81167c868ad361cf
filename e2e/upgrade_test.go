// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/vigil-monitor/vigil/internal/secret"
	"github.com/vigil-monitor/vigil/internal/standalone"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

const tokenHeaderIsSecret = true

// upgrade is a data directory of an earlier version under today's program.
type upgrade struct {
	t       *testing.T
	fixture string
	dir     string // the data directory
	facts   upgradeFacts
	targets *upgradeTargets
	dsn     string // of the platform's database
	before  map[string]delivery
	bodies  map[string]string // by delivery, as the earlier version stored them
	began   time.Time
	env     []string
	process *process
	client  client
}

// TestUpgrade starts today's program on the data directories that earlier
// versions left behind.
func TestUpgrade(t *testing.T) {
	timingtest.Parallel(t)
	fixtures, err := filepath.Glob(filepath.Join("testdata", "upgrade", "*", "facts.json"))
	if err != nil || len(fixtures) == 0 {
		t.Fatalf("no fixture: %v", err)
	}
	for _, facts := range fixtures { // one after the other: they use the same ports
		fixture := filepath.Dir(facts)
		t.Run(filepath.Base(fixture), func(t *testing.T) {
			t.Run("ReplaysHistories", func(t *testing.T) { replayHistories(t, fixture) })
			u := startUpgrade(t, fixture)
			t.Run("LoopsGoOn", u.loopsGoOn)
			t.Run("SlotsAreAccountedFor", u.slotsAreAccountedFor)
			t.Run("ProbesHaveTheirSecrets", u.probesHaveTheirSecrets)
			t.Run("SecretsAreMasked", u.secretsAreMasked)
			t.Run("IncidentsAreTheSame", u.incidentsAreTheSame)
			t.Run("DeliveriesAreTheSame", u.deliveriesAreTheSame)
			t.Run("WaitingDeliveryIsRedelivered", u.waitingDeliveryIsRedelivered)
			t.Run("OpenIncidentResolves", u.openIncidentResolves)
			t.Run("WorkflowsGoOn", u.workflowsGoOn)
			u.process.stop()
			if filepath.Base(fixture) == lastFixture {
				t.Run("GoesBack", u.goesBack)
			}
		})
	}
}

// startUpgrade restores a fixture and starts the program on it.
func startUpgrade(t *testing.T, fixture string) *upgrade {
	t.Helper()
	u := &upgrade{t: t, fixture: fixture, targets: newUpgradeTargets(t), before: map[string]delivery{}, bodies: map[string]string{}}
	raw, err := os.ReadFile(filepath.Join(fixture, "facts.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &u.facts); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/open", "/acknowledged", "/latched", "/waiting"} {
		u.targets.fail(path, true)
	}
	dir := dataDir(t)
	u.dir = dir
	restored := time.Now()
	u.restore(dir)
	t.Logf("restored in %v", time.Since(restored).Round(time.Millisecond))

	// What the fixture holds is kept, however old the fixture is.
	const ever = "36500d"
	u.began = time.Now()
	u.env = []string{
		"VIGIL_REGIONS=" + upgradeRegions, "SSL_CERT_FILE=" + u.targets.trusted, "VIGIL_LOG_LEVEL=warn",
		"VIGIL_RESULT_RETENTION=" + ever, "VIGIL_ROLLUP_RETENTION=" + ever, "VIGIL_EVENT_RETENTION=" + ever, "VIGIL_ATTEMPT_RETENTION=" + ever,
	}
	u.process = up(t, dir, u.env...)
	t.Logf("ready after %v", time.Since(u.began).Round(time.Millisecond))
	if u.process.ready.APIKey != "" {
		t.Error("the program made an API key: it did not find the operator's account")
	}
	u.client = client{t: t, url: u.process.ready.APIURL, key: u.facts.APIKey}
	return u
}

// restore fills a data directory from the fixture and notes what it says.
func (u *upgrade) restore(dir string) {
	u.t.Helper()
	key, err := os.ReadFile(filepath.Join(u.fixture, "secret.key"))
	if err != nil {
		u.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "secret.key"), key, 0o600); err != nil {
		u.t.Fatal(err)
	}
	data, err := standalone.OpenDataDir(dir)
	if err != nil {
		u.t.Fatal(err)
	}
	defer func() { _ = data.Close() }()
	server, err := standalone.StartPostgres(u.t.Context(), data, standalone.PostgresOptions{Databases: upgradeDatabases()})
	if err != nil {
		u.t.Fatal(err)
	}
	defer func() { _ = server.Stop(context.WithoutCancel(u.t.Context())) }()
	for _, name := range upgradeDatabases() {
		loadDump(u.t, server.DSN(name), filepath.Join(u.fixture, name+".sql.gz"))
	}
	u.dsn = server.DSN("vigil") // the server keeps its port and password
	db := u.open()
	defer func() { _ = db.Close() }()
	var newest time.Time
	if err := db.QueryRowContext(u.t.Context(), "SELECT max(last_time) FROM check_regions").Scan(&newest); err != nil {
		u.t.Fatal(err)
	}
	if newest.After(time.Now()) {
		u.t.Skipf("the fixture is of %v, and the clock of this machine is behind", newest)
	}
	for name, id := range u.facts.Deliveries {
		d := delivery{ID: id}
		var body string
		err := db.QueryRowContext(u.t.Context(), `SELECT event_id, channel_id, status, attempts, next_attempt_at, coalesce(d.body, e.envelope)
			FROM deliveries AS d JOIN events AS e ON e.id = d.event_id WHERE d.id = $1`, id).
			Scan(&d.EventID, &d.ChannelID, &d.Status, &d.Attempts, &d.NextAttemptAt, &body)
		if err != nil {
			u.t.Fatal(err)
		}
		u.before[name], u.bodies[name] = d, body
	}
}

func (u *upgrade) open() *sql.DB {
	u.t.Helper()
	db, err := sql.Open("pgx", u.dsn)
	if err != nil {
		u.t.Fatal(err)
	}
	return db
}

// probesHaveTheirSecrets waits for a good result of every check whose target is
// well. Those of the checks named headers, basic and multistep accept nothing
// but the right secrets.
func (u *upgrade) probesHaveTheirSecrets(t *testing.T) {
	c := u.client
	c.t = t
	broken := []string{"open", "acknowledged", "latched", "waiting", "disabled", "deleted", "unverified", "slow"}
	if slices.Contains(unavailableTypes(c), "ping") {
		broken = append(broken, "ping")
	}
	deadline := time.Now().Add(waitLimit)
	for name, id := range u.facts.Checks {
		if slices.Contains(broken, name) {
			continue
		}
		var newest []struct {
			result
			Error string `json:"error_message"`
		}
		ended := timingtest.Waiting(t, "the check "+name+" has a good result")
		for {
			c.into(&newest, http.MethodGet, "/v1/checks/"+id+"/results?limit=1", nil)
			if len(newest) == 1 && newest[0].Success && newest[0].Time.After(u.began) {
				break
			}
			if time.Now().After(deadline) {
				t.Errorf("%s: the newest result is %+v", name, newest)
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		ended()
	}
}

// secretsAreMasked reads every check and channel, through the API and at rest.
func (u *upgrade) secretsAreMasked(t *testing.T) {
	c := u.client
	c.t = t
	secrets := []string{upgradeBearer, upgradeAPIKey, upgradePassword, upgradeSigning, upgradeRouting}
	if tokenHeaderIsSecret {
		secrets = append(secrets, upgradeToken)
	}
	masked := func(where, text string) {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%s shows %s", where, secret)
			}
		}
	}
	for _, path := range []string{"/v1/checks?limit=100", "/v1/notification-channels?limit=100"} {
		masked(path, string(c.do(http.MethodGet, path, nil).Data))
	}
	var one struct {
		Config struct {
			Headers map[string]string `json:"headers"`
		} `json:"config"`
	}
	c.into(&one, http.MethodGet, "/v1/checks/"+u.facts.Checks["headers"], nil)
	for name, want := range map[string]string{"Authorization": secret.Mask, "X-Api-Key": secret.Mask, "Accept": "text/plain"} {
		if got := one.Config.Headers[name]; got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := one.Config.Headers["X-Auth-Token"]; got != secret.Mask && (tokenHeaderIsSecret || got != upgradeToken) {
		t.Errorf("X-Auth-Token is %q", got)
	}

	db := u.open()
	defer func() { _ = db.Close() }()
	var configs string
	if err := db.QueryRowContext(t.Context(), `SELECT string_agg(config::text, ' ')
		FROM (SELECT config FROM checks UNION ALL SELECT config FROM channels) AS all_configs`).Scan(&configs); err != nil {
		t.Fatal(err)
	}
	masked("a row", configs)
}

// incidentsAreTheSame: each check that had an incident has that one only, as it was.
func (u *upgrade) incidentsAreTheSame(t *testing.T) {
	c := u.client
	c.t = t
	status := map[string]string{
		"open": "active", "waiting": "active", "acknowledged": "acknowledged", "ended": "resolved", "latched": "resolved",
	}
	for name, want := range status {
		var incidents []struct{ ID, Status string }
		c.into(&incidents, http.MethodGet, "/v1/incidents?check_id="+u.facts.Checks[name], nil)
		if len(incidents) != 1 || incidents[0].ID != u.facts.Incidents[name] || incidents[0].Status != want {
			t.Errorf("%s: %+v, want one that is %s, %s", name, incidents, want, u.facts.Incidents[name])
		}
	}
}

func (u *upgrade) deliveriesAreTheSame(t *testing.T) {
	c := u.client
	c.t = t
	for name, before := range u.before {
		var now delivery
		c.into(&now, http.MethodGet, "/v1/deliveries/"+before.ID, nil)
		sameNext := before.NextAttemptAt == nil && now.NextAttemptAt == nil ||
			before.NextAttemptAt != nil && now.NextAttemptAt != nil && before.NextAttemptAt.Equal(*now.NextAttemptAt)
		if !sameNext || now.Status != before.Status || now.Attempts != before.Attempts || now.EventID != before.EventID {
			t.Errorf("%s: %+v, want %+v", name, now, before)
		}
	}
	if requests := u.targets.receivedAt("/waits"); len(requests) > 0 {
		t.Errorf("%d requests to the receiver that is to be tried again in years", len(requests))
	}
}

// waitingDeliveryIsRedelivered: the receiver gets the message that the attempts
// of the earlier version carried, with the same id and a valid signature.
func (u *upgrade) waitingDeliveryIsRedelivered(t *testing.T) {
	c := u.client
	c.t = t
	before := u.before["waiting"]
	c.into(nil, http.MethodPost, "/v1/deliveries/"+before.ID+"/redeliver", nil)
	var now delivery
	eventually(t, "it is delivered", func() bool {
		c.into(&now, http.MethodGet, "/v1/deliveries/"+before.ID, nil)
		return now.Status == "delivered"
	})
	requests := u.targets.receivedAt("/waits")
	if len(requests) != 1 || now.Attempts != before.Attempts+1 {
		t.Fatalf("%d requests, %d attempts, want one more than %d", len(requests), now.Attempts, before.Attempts)
	}
	if r := requests[0]; r.id != before.EventID || !r.signed || string(r.body) != u.bodies["waiting"] {
		t.Errorf("webhook-id %s, want %s; signed: %v; the body is\n%s\nwant\n%s", r.id, before.EventID, r.signed, r.body, u.bodies["waiting"])
	}
}

// openIncidentResolves mends the target of the open incident.
func (u *upgrade) openIncidentResolves(t *testing.T) {
	c := u.client
	c.t = t
	u.targets.fail("/open", false)
	var incidents []struct{ ID, Status string }
	eventually(t, "the incident is resolved", func() bool {
		c.into(&incidents, http.MethodGet, "/v1/incidents?check_id="+u.facts.Checks["open"], nil)
		return len(incidents) == 1 && incidents[0].ID == u.facts.Incidents["open"] && incidents[0].Status == "resolved"
	})
	eventually(t, "the receiver has the signed message", func() bool {
		return slices.ContainsFunc(u.targets.receivedAt("/accepts"), func(r received) bool {
			return r.signed && strings.Contains(string(r.body), "incident.resolved") && strings.Contains(string(r.body), u.facts.Incidents["open"])
		})
	})
}

// workflowsGoOn: the workflows of the earlier version are still those that run,
// and none of their tasks has failed under today's code.
func (u *upgrade) workflowsGoOn(t *testing.T) {
	ready := u.process.ready
	c := dialTemporal(t, ready.TemporalAddress, ready.Namespace)
	defer c.Close()
	ended := []string{"incident/" + u.facts.Checks["open"], "delivery/" + u.facts.Incidents["waiting"] + "/" + u.facts.Channels["waits"]}
	for id, first := range u.facts.FirstRuns {
		if strings.Contains(id, u.facts.Checks["unverified"]) {
			continue // it expires
		}
		described, err := c.DescribeWorkflowExecution(t.Context(), id, "")
		if err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		info := described.GetWorkflowExecutionInfo()
		if info.GetFirstRunId() != first || info.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING && !slices.Contains(ended, id) {
			t.Errorf("%s is %v, in the chain of the run %s, want the one of %s", id, info.GetStatus(), info.GetFirstRunId(), first)
		}
		for _, event := range historyOf(t, c, id).GetEvents() {
			if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED && event.GetEventTime().AsTime().After(u.began) {
				t.Errorf("%s: %v", id, event.GetWorkflowTaskFailedEventAttributes())
			}
		}
	}
	if strings.Contains(u.process.stderr.String(), "nondeterminis") {
		t.Error("the log speaks of nondeterminism")
	}
}
