// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestPayloadCodec runs an episode with encrypted payloads, looks into every history, reads
// one by the codec endpoint, and goes on with plain payloads.
func TestPayloadCodec(t *testing.T) {
	timingtest.Parallel(t)
	dsn, dir := database(t), dataDir(t)
	env := []string{"DATABASE_URL=" + dsn, "VIGIL_REGIONS=" + clusterRegion, "VIGIL_QUIET_WINDOW=2s", "VIGIL_TURN_RATE=0.001", fastSchedule}
	p := up(t, dir, append(env, "VIGIL_PAYLOAD_CODEC=encrypt")...)
	c := client{t: t, url: p.ready.APIURL, key: p.ready.APIKey}
	d := newAlertScenario(t, c, dsn, 1, 1, 0, clusterRegion)
	d.service.fail(path(0))
	d.awaitIncidents(0, 1, "active")
	d.awaitDeliveries()

	events := allEvents(t, p)
	shown := func(text string) bool {
		for _, event := range events {
			raw, err := proto.Marshal(event)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(raw, []byte(text)) {
				t.Logf("%q is in the event %v", text, event.GetEventType())
				return true
			}
		}
		return false
	}
	if len(events) < 20 || !shown("CheckLoop") || !shown("Incident") || !shown("Deliver") {
		t.Errorf("%d events, which are not those of the episode", len(events))
	}
	for _, text := range []string{"episode 0", d.service.URL, "receiver", "json/plain\x12\x02{\"", `"revision"`, `"firing"`} {
		if shown(text) {
			t.Errorf("a history shows %q", text)
		}
	}
	// The input of the loop, by the codec endpoint.
	for _, event := range events {
		if input := event.GetWorkflowExecutionStartedEventAttributes().GetInput(); input != nil {
			raw, err := protojson.Marshal(input)
			if err != nil {
				t.Fatal(err)
			}
			if got := decoded(t, c, raw); !bytes.Contains(got, []byte("_id")) {
				t.Errorf("an input decodes to %s", got)
			}
		}
	}
	if endpoint := codecOfUI(t, p); endpoint != p.ready.APIURL+"/codec" {
		t.Errorf("the UI decodes by %q", endpoint)
	}

	key := p.ready.APIKey
	p.stop()
	p = up(t, dir, env...) // off: the workflows run on
	d.client = client{t: t, url: p.ready.APIURL, key: key}
	d.service.repair(path(0))
	d.awaitIncidents(0, 1, "resolved")
	d.awaitDeliveries()
	d.verify(1)
	p.stop()
}

// allEvents returns the histories of all workflows.
func allEvents(t *testing.T, p *process) []*historypb.HistoryEvent {
	t.Helper()
	c := dialTemporal(t, p.ready.TemporalAddress, p.ready.Namespace)
	defer c.Close()
	var events []*historypb.HistoryEvent
	eventually(t, "the three workflows are listed", func() bool {
		listed, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Namespace: p.ready.Namespace})
		if err != nil {
			t.Fatal(err)
		}
		events = nil
		for _, execution := range listed.GetExecutions() {
			id := execution.GetExecution()
			history := c.GetWorkflowHistory(t.Context(), id.GetWorkflowId(), id.GetRunId(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
			for history.HasNext() {
				event, err := history.Next()
				if err != nil {
					t.Fatal(err)
				}
				events = append(events, event)
			}
		}
		return len(listed.GetExecutions()) >= 3
	})
	return events
}

// decoded posts payloads to the codec endpoint and returns the data of the first.
func decoded(t *testing.T, c client, payloads []byte) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.url+"/codec/decode", bytes.NewReader(payloads))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("decode: %d %s, %v", res.StatusCode, body, err)
	}
	var answer struct {
		Payloads []struct {
			Data []byte `json:"data"`
		} `json:"payloads"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || len(answer.Payloads) == 0 {
		t.Fatalf("decode: %s, %v", body, err)
	}
	return answer.Payloads[0].Data
}

// codecOfUI returns the codec endpoint in the settings of the embedded UI.
func codecOfUI(t *testing.T, p *process) string {
	t.Helper()
	res := visit(t, operatorBrowser(t, p), http.MethodGet, p.ready.TemporalUIURL+"/api/v1/settings", "")
	var settings struct {
		Codec struct{ Endpoint string }
	}
	if err := json.NewDecoder(res.Body).Decode(&settings); err != nil {
		t.Fatal(err)
	}
	return settings.Codec.Endpoint
}
