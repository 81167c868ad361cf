// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/storage"
)

func seen(text string) *vigil.Evidence {
	return &vigil.Evidence{
		StatusLine: "HTTP/1.1 503 Service Unavailable", Address: "203.0.113.7:443",
		Body: &vigil.EvidenceContent{Text: text, Bytes: int64(len(text))},
	}
}

func TestEvidenceIsStored(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark))
	w := newWriter(t, s, storage.WriterOptions{})
	first, second := failed(c, newark, epoch()), failed(c, newark, epoch().Add(time.Minute))
	first.Evidence = seen("a\x00b\xffc")
	stored, err := w.Write(t.Context(), vigil.ResultRow{Result: first, Worker: "w1"})
	if err != nil || !stored.Result.HasEvidence {
		t.Fatalf("%+v, %v", stored, err)
	}
	write(t, w, second)

	t.Run("AndReadWhereItIsAskedFor", func(t *testing.T) {
		t.Parallel()
		for _, with := range []bool{false, true} {
			rows, _, err := s.Results(t.Context(), org.ID, c.ID, listing.ResultFilter{WithEvidence: with, Page: listing.Page{Limit: 10}})
			if err != nil || len(rows) != 2 {
				t.Fatal(rows, err)
			}
			if rows[0].HasEvidence || rows[0].Evidence != nil || !rows[1].HasEvidence || (rows[1].Evidence != nil) != with {
				t.Errorf("with %v: %+v, %+v", with, rows[0], rows[1])
			}
			if with && (rows[1].Evidence.Body.Text != "ab\uFFFDc" || rows[1].Evidence.StatusLine != first.Evidence.StatusLine) {
				t.Errorf("evidence %+v", rows[1].Evidence.Body)
			}
		}
	})
	t.Run("AndNotReadByLoops", func(t *testing.T) {
		t.Parallel()
		latest, err := s.LatestResults(t.Context(), c.ID, newark, 10)
		if err != nil || len(latest) != 2 || !latest[0].HasEvidence || latest[0].Evidence != nil || latest[1].HasEvidence {
			t.Errorf("%+v, %v", latest, err)
		}
		after, err := s.ResultsAfter(t.Context(), c.ID, newark, epoch().Add(-time.Second), 10)
		if err != nil || len(after) != 2 || !after[0].HasEvidence || after[0].Evidence != nil {
			t.Errorf("%+v, %v", after, err)
		}
	})
	t.Run("ByTheFirstRowOfASlot", func(t *testing.T) {
		t.Parallel()
		again := second
		again.Evidence = seen("late")
		stored, err := w.Write(t.Context(), vigil.ResultRow{Result: again, Worker: "w1"})
		if err != nil || stored.Inserted || stored.Result.HasEvidence {
			t.Errorf("%+v, %v", stored, err)
		}
	})
}

// TestEvidenceStaysWithinTheMetadata holds that metadata and evidence together have at most
// 16 KiB as Postgres writes them, and that metadata goes first.
func TestEvidenceStaysWithinTheMetadata(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark))
	w := newWriter(t, s, storage.WriterOptions{})
	for i, size := range []int{0, 5_000, 12_000, 15_000, 16_200, 40_000} {
		r := failed(c, newark, epoch().Add(time.Duration(i)*time.Minute))
		r.Metadata = map[string]any{"text": strings.Repeat("x", size)}
		r.Evidence = seen(strings.Repeat(`"a": 1, `, 256))
		for range 40 {
			r.Evidence.Headers = append(r.Evidence.Headers, vigil.EvidenceHeader{Name: "X-Long", Value: strings.Repeat("y, ", 100)})
		}
		write(t, w, r)
	}
	largest := count(t, s, `SELECT max(octet_length(metadata::text) + coalesce(octet_length(evidence::text), 0)) FROM results`)
	most := count(t, s, `SELECT max(octet_length(evidence::text)) FROM results`)
	if largest > vigil.MaxMetadata || most > vigil.MaxEvidence || most < vigil.MaxEvidence/4 {
		t.Errorf("%d bytes together, %d bytes of evidence", largest, most)
	}
	if n := count(t, s, `SELECT count(*) FROM results WHERE evidence->>'truncated' = 'true'`); n < 4 {
		t.Errorf("%d are marked as cut", n)
	}
	if whole := count(t, s, `SELECT count(*) FROM results WHERE octet_length(metadata->>'text') = 15000`); whole != 1 {
		t.Error("metadata was cut for evidence")
	}
}

// TestEvidenceOfAnIncident holds that an incident shows the evidence of the result that opened
// it, that its message has it, and that a list does not read it.
func TestEvidenceOfAnIncident(t *testing.T) {
	t.Parallel()
	a := newAlerts(t, vigil.NotifyBoth, vigil.ChannelWebhook)
	down := vigil.Observation{Error: "status 503", StatusCode: 503, Evidence: seen("upstream timed out")}
	id := a.open(a.evaluated(down)).Incident.ID
	incident, err := a.store.Incident(t.Context(), a.org.ID, id)
	got := incident.Trigger.Result
	if err != nil || !got.HasEvidence || got.Evidence == nil || got.Evidence.Body.Text != "upstream timed out" {
		t.Fatalf("%+v, %v", got, err)
	}
	listed, _, err := a.store.Incidents(t.Context(), a.org.ID, listing.IncidentFilter{Page: listing.Page{Limit: 10}})
	if err != nil || len(listed) != 1 || !listed[0].Trigger.Result.HasEvidence || listed[0].Trigger.Result.Evidence != nil {
		t.Errorf("%+v, %v", listed, err)
	}
	var variables, envelope string
	err = a.store.DB().
		NewRaw("SELECT variables::text, envelope FROM events WHERE incident_id = ?", id).
		Scan(t.Context(), &variables, &envelope)
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]string
	var body struct {
		Data struct {
			Result struct {
				Evidence *vigil.Evidence `json:"evidence"`
			} `json:"result"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(variables), &values); err != nil {
		t.Fatal(err)
	}
	if want := "HTTP/1.1 503 Service Unavailable\nAddress: 203.0.113.7:443\nBody (18 bytes):\nupstream timed out"; values["evidence"] != want {
		t.Errorf("message %q", values["evidence"])
	}
	if err := json.Unmarshal([]byte(envelope), &body); err != nil || body.Data.Result.Evidence == nil ||
		body.Data.Result.Evidence.StatusLine != "HTTP/1.1 503 Service Unavailable" {
		t.Errorf("%s, %v", envelope, err)
	}
}

// TestCheckWithoutEvidence holds that the member is stored and that a change of it reaches the
// workers.
func TestCheckWithoutEvidence(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark))
	if c.NoEvidence {
		t.Error("a new check keeps no evidence")
	}
	changed := update(t, s, c, func(c *vigil.Check) { c.NoEvidence = true })
	def, err := s.Definition(t.Context(), c.ID)
	if err != nil || !changed.NoEvidence || !def.Check.NoEvidence || changed.Revision != c.Revision+1 || changed.Version != c.Version+1 {
		t.Errorf("%+v, %v", def.Check, err)
	}
}
