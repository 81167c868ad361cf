// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/vigil-monitor/vigil/internal/channelhealth"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// owing is a cluster with a webhook channel that did not get its messages: a beginning and an end of
// each incident.
type owing struct {
	*cluster
	c       client
	channel string
}

// recovered is a recovery as the API shows it.
type recovered struct {
	ID                           uuid.UUID `json:"id"`
	State                        string    `json:"state"`
	Total, Sent, Skipped, Failed int
}

// newOwing stores exhausted deliveries of incidents, oldest first, to a receiver.
func newOwing(t *testing.T, receiver string, incidents, rate int) *owing {
	t.Helper()
	s := newCluster(t, "VIGIL_SIGNUP_TIER=enterprise", fastSchedule, fmt.Sprintf("VIGIL_RECOVERY_RATE=%d", rate))
	o := &owing{cluster: s, c: client{t: t, url: s.apiURL}}
	var account struct {
		APIKey       string `json:"api_key"`
		Organization struct{ ID string }
	}
	eventually(t, "the API answers", func() bool { _, err := o.c.try(http.MethodGet, "/health", nil); return err == nil })
	o.c.into(&account, http.MethodPost, "/v1/auth/quick-signup", object{"email": "owing@vigil.test", "org_name": "owing"})
	o.c.key = account.APIKey
	var made struct{ ID string }
	o.c.into(&made, http.MethodPost, "/v1/notification-channels", object{
		"name": "owed", "type": "webhook", "config": object{"url": receiver, "secret": receiverSecret},
	})
	o.channel = made.ID
	o.c.into(&made, http.MethodPost, "/v1/checks", object{
		"name":             "shop",
		"type":             "http",
		"config":           object{"url": receiver},
		"regions":          []string{clusterRegion},
		"interval_seconds": 60,
		"enabled":          false,
	})
	org, check := account.Organization.ID, made.ID
	query(t, s.dsn,
		fmt.Sprintf(`CREATE TABLE owed AS SELECT gen_random_uuid() AS id, i.incident, kind,
				i.n * 2 + (kind = 'incident.resolved')::int AS n
			FROM (SELECT n, gen_random_uuid() AS incident FROM generate_series(1, %d) AS n) AS i,
				unnest(ARRAY['incident.triggered', 'incident.resolved']) AS kind`, incidents),
		fmt.Sprintf(`INSERT INTO events (org_id, ms, seq, id, type, incident_id, check_id, time, envelope, title, body, variables)
			SELECT '%s', n, 0, id, kind, incident, '%s', now() - interval '1 hour', jsonb_build_object('id', id, 'type', kind,
				'data', jsonb_build_object('incident', jsonb_build_object('id', incident)))::text, 'shop is failing', '', '{}' FROM owed`, org, check),
		fmt.Sprintf(`INSERT INTO deliveries (id, org_id, event_id, event_type, incident_id, check_id, channel_id, channel_type, channel_name,
				status, attempts, failures, created_at, updated_at, finished_at, swept_at, policy)
			SELECT gen_random_uuid(), '%s', id, kind, incident, '%s', '%s', 'webhook', 'owed', 'exhausted', 12, 12, at, at, at, at, '{}'
			FROM (SELECT *, now() - interval '1 hour' + n * interval '1 millisecond' AS at FROM owed) AS o`, org, check, o.channel))
	return o
}

func (o *owing) recover() recovered {
	o.t.Helper()
	var begun recovered
	o.c.into(&begun, http.MethodPost, "/v1/notification-channels/"+o.channel+"/recover",
		object{"since": time.Now().Add(-2 * time.Hour).UTC().Format(time.RFC3339)})
	return begun
}

// look reads a recovery; the zero value while nothing answers.
func (o *owing) look(id uuid.UUID) (found recovered) {
	if answer, err := o.c.try(http.MethodGet, "/v1/notification-channels/"+o.channel+"/recoveries/"+id.String(), nil); err == nil {
		_ = json.Unmarshal(answer.Data, &found) // what is no recovery has no state
	}
	return found
}

// TestDrillRecovery sends again what a receiver did not get, while the process that does it is
// killed over and over: each message arrives, those of an incident in order, and only attempts whose
// process died with them are made twice.
func TestDrillRecovery(t *testing.T) {
	timingtest.Parallel(t)
	incidents, kills, rate := 150, 2, 100
	if full() {
		incidents, kills, rate = 5000, 10, 200
	}
	hook := newReceiver(t, 0)
	o := newOwing(t, hook.URL, incidents, rate)
	begun := o.recover()
	if begun.Total != 2*incidents || begun.State != "running" {
		t.Fatalf("began %+v", begun)
	}
	limit := time.Duration(kills+1) * (time.Minute + time.Duration(2*incidents/rate)*time.Second)
	for n := range kills {
		part := 2 * incidents * (n + 1) / (kills + 2)
		eventuallyWithin(t, limit, fmt.Sprintf("%d are sent", part), func() bool { return o.look(begun.ID).Sent >= part })
		o.control.kill()
		o.startControl()
	}
	var ended recovered
	eventuallyWithin(t, limit, "the recovery ends", func() bool { ended = o.look(begun.ID); return ended.State == "done" })
	unknown := o.number("SELECT count(*) FROM attempts WHERE error_code = 'unknown'")
	if ended.Sent != 2*incidents || ended.Skipped != 0 || ended.Failed != 0 {
		t.Errorf("the recovery ended as %+v", ended)
	}
	got := hook.summarize()
	if got.opened != incidents || got.resolved != incidents {
		t.Errorf("%d beginnings and %d ends arrived, want %d", got.opened, got.resolved, incidents)
	}
	figure(t, "messages repeated, of those whose process died with them", got.repeated, unknown, 0)
	figure(t, "ends before their beginnings", got.outOfOrder, 0, 0)
	figure(t, "messages with another body or signature", got.changed+got.unsigned+hook.differentIDs(), 0, 0)
	if n := o.number("SELECT count(*) FROM attempts WHERE error_code = ''"); n != 2*incidents {
		t.Errorf("%d attempts have arrived, want %d", n, 2*incidents)
	}
	if again := o.recover(); again.Total != 0 || again.State != "done" {
		t.Errorf("a recovery after it: %+v", again)
	}
	if *record != "" {
		temporal := dialTemporal(t, o.temporal.ready.TemporalAddress, "vigil")
		defer temporal.Close()
		keepHistory(t, temporal, channelhealth.RecoveryWorkflowID(begun.ID), "recovery")
	}
}

// verifications count how a receiver with one secret judges messages.
type verifications struct {
	mu    sync.Mutex
	by    *standardwebhooks.Webhook
	wrong []string // ids of the deliveries that it does not accept
	right int
}

func (v *verifications) judge(delivery string, body []byte, header http.Header) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.by == nil {
		return
	}
	if v.by.Verify(body, header) == nil {
		v.right++
	} else {
		v.wrong = append(v.wrong, delivery)
	}
}

// TestDrillRotation rotates the secret of a webhook under load: a receiver with the replaced secret
// verifies every message, and so does one with the new secret each whose attempt began after the rotation was answered.
func TestDrillRotation(t *testing.T) {
	timingtest.Parallel(t)
	incidents := 150
	if full() {
		incidents = 2000
	}
	raw, err := standardwebhooks.NewWebhookRaw([]byte(receiverSecret))
	if err != nil {
		t.Fatal(err)
	}
	former, present := &verifications{by: raw}, &verifications{}
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		for _, one := range []*verifications{former, present} {
			one.judge(r.Header.Get("X-Service-Delivery"), body, r.Header)
		}
	}))
	t.Cleanup(hook.Close)
	o := newOwing(t, hook.URL, incidents, 100)
	begun := o.recover()
	eventually(t, "some are sent", func() bool { return o.look(begun.ID).Sent >= incidents/2 })
	var rotated struct{ Secret string }
	o.c.into(&rotated, http.MethodPost, "/v1/notification-channels/"+o.channel+"/rotate-secret", nil)
	answered := time.Now() // the change is committed; the channel's own time is that of the statement
	verifier, err := standardwebhooks.NewWebhook(rotated.Secret)
	if err != nil {
		t.Fatal(err)
	}
	present.mu.Lock()
	present.by = verifier
	present.mu.Unlock()
	eventuallyWithin(t, 2*waitLimit, "the recovery ends", func() bool { return o.look(begun.ID).State == "done" })
	if former.right < 2*incidents || present.right == 0 {
		t.Errorf("the replaced secret verified %d messages, the new one %d, of %d", former.right, present.right, 2*incidents)
	}
	late := 0
	for _, delivery := range present.wrong { // those on their way while it was rotated are signed by the replaced one alone
		late += o.number("SELECT count(*) FROM attempts WHERE delivery_id = $1 AND started_at > $2", delivery, answered)
	}
	figure(t, "messages that the replaced secret does not verify", len(former.wrong), 0, 0)
	figure(t, "messages after the rotation that the new secret does not verify", late, 0, 0)
}
