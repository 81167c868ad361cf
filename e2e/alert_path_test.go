// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// drillAnswer is what a test reads of a drill.
type drillAnswer struct {
	ID, State  string
	WorkflowID string `json:"workflow_id"`
	Signed     string `json:"signed_receipt"`
	Receipt    struct {
		Verdict string
		Hops    []struct {
			Name string
			MS   int64 `json:"ms_since_previous"`
		}
		Channels []struct {
			Opening, Recovery struct {
				DeliveredAt time.Time `json:"delivered_at"`
			}
		}
		Failures []struct {
			Hop, Reason, Region string
			ChannelID           string `json:"channel_id"`
		}
	}
}

// drilled is a receiver that keeps what it gets, and answers with a status.
type drilled struct {
	*httptest.Server
	mu     sync.Mutex
	titles []string
	marked int // with the header of a drill
	at     []time.Time
}

func newDrilled(t *testing.T, status int) *drilled {
	t.Helper()
	d := &drilled{}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		var envelope struct {
			Data struct {
				Drill   struct{ ID string }
				Message struct{ Title string }
			}
		}
		_ = json.Unmarshal(body, &envelope)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.titles, d.at = append(d.titles, envelope.Data.Message.Title), append(d.at, time.Now())
		if r.Header.Get("X-Service-Drill") == "1" && envelope.Data.Drill.ID != "" {
			d.marked++
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(d.Close)
	return d
}

// drill asks for a drill of a channel at the receiver, and waits for its receipt.
func (d *drilled) drill(t *testing.T, api client, within int) (channel string, answer drillAnswer) {
	t.Helper()
	var made struct{ ID string }
	api.into(&made, http.MethodPost, "/v1/notification-channels", object{"name": "ops", "type": "webhook", "config": object{"url": d.URL}})
	api.into(&answer, http.MethodPost, "/v1/drills", object{
		"channel_ids": []string{made.ID}, "regions": []string{"eu-central-fra"}, "expect_within_seconds": within,
	})
	eventuallyWithin(t, 3*time.Minute, "the drill has a receipt", func() bool {
		api.into(&answer, http.MethodGet, "/v1/drills/"+answer.ID, nil)
		return answer.State == "closed"
	})
	return made.ID, answer
}

// TestAlertPath proves the way of an alert on demand: the receipt of a drill whose receiver answers
// says so, with the times that the receiver has seen, and that of one whose receiver fails names the
// hop. The signature holds with the published key.
func TestAlertPath(t *testing.T) {
	timingtest.Parallel(t)
	p, api := shared(t)
	good := newDrilled(t, http.StatusNoContent)
	_, passed := good.drill(t, api, 60)
	if passed.Receipt.Verdict != "passed" || len(passed.Receipt.Failures) > 0 || len(passed.Receipt.Hops) != 13 {
		t.Fatalf("the receipt is %+v", passed.Receipt)
	}
	for _, hop := range passed.Receipt.Hops {
		t.Logf("%-20s %6d ms", hop.Name, hop.MS)
	}
	good.mu.Lock()
	defer good.mu.Unlock()
	if len(good.titles) != 2 || good.marked != 2 || !strings.HasPrefix(good.titles[0], "[DRILL] ") ||
		!strings.HasPrefix(good.titles[1], "[DRILL] ") {
		t.Errorf("the receiver got %q, %d of them marked", good.titles, good.marked)
	}
	for i, delivered := range []time.Time{passed.Receipt.Channels[0].Opening.DeliveredAt, passed.Receipt.Channels[0].Recovery.DeliveredAt} {
		t.Logf("message %d: the receipt is %s behind the receiver's clock", i+1, delivered.Sub(good.at[i]))
		if delivered.Before(good.at[i].Add(-time.Millisecond)) {
			t.Errorf("message %d is delivered at %s, and arrived at %s", i+1, delivered, good.at[i])
		}
	}
	verifyReceipt(t, api, passed.Signed)
	if *record != "" {
		c := dialTemporal(t, p.ready.TemporalAddress, p.ready.Namespace)
		defer c.Close()
		keepHistory(t, c, passed.WorkflowID, "drill")
	}

	channel, failed := newDrilled(t, http.StatusInternalServerError).drill(t, api, 10)
	if f := failed.Receipt.Failures; failed.Receipt.Verdict != "failed" || len(f) != 1 || f[0].Hop != "delivered" ||
		f[0].ChannelID != channel {
		t.Errorf("with a receiver that answers 500 the receipt is %s with %+v", failed.Receipt.Verdict, f)
	}
	var checks, incidents []struct{ ID string }
	api.into(&checks, http.MethodGet, "/v1/checks", nil)
	api.into(&incidents, http.MethodGet, "/v1/incidents", nil)
	if len(checks) > 0 || len(incidents) > 0 {
		t.Errorf("after two drills there are %d checks and %d incidents", len(checks), len(incidents))
	}
}

// verifyReceipt checks a signed receipt with what is published alone.
func verifyReceipt(t *testing.T, api client, signed string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, api.url+"/.well-known/vigil-keys", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var set struct{ Keys []struct{ X string } }
	if err := json.NewDecoder(res.Body).Decode(&set); err != nil || len(set.Keys) == 0 {
		t.Fatalf("%d keys are published: %v", len(set.Keys), err)
	}
	decode := func(text string) []byte {
		raw, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	text := signed[:max(0, strings.LastIndex(signed, "."))]
	var receipt struct{ Verdict string }
	if !ed25519.Verify(decode(set.Keys[0].X), []byte(text), decode(signed[len(text)+1:])) {
		t.Error("the signature of the receipt is not valid")
	}
	if _, payload, _ := strings.Cut(text, "."); json.Unmarshal(decode(payload), &receipt) != nil || receipt.Verdict != "passed" {
		t.Errorf("the signed receipt says %q", receipt.Verdict)
	}
}
