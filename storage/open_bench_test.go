// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage"
)

// BenchmarkOpenIncident opens incidents of a check with few and with many stored
// results, by a rule about its certificate and by one about DNS records whose
// answer before the change is the oldest result. Times of the whole transaction, its commit included.
//
// VIGIL_BENCH_RESULTS is the number of many; 800,000 without it.
func BenchmarkOpenIncident(b *testing.B) {
	many := 800_000
	if text := os.Getenv("VIGIL_BENCH_RESULTS"); text != "" {
		var err error
		if many, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	for _, n := range []int{8, many} {
		s, _ := newStore(b)
		o := newOpenBench(b, s, n)
		for _, rule := range []string{vigil.KeySSLDaysRemaining, vigil.KeyDNSChanged} {
			b.Run(fmt.Sprintf("%s/%d", rule, n), func(b *testing.B) { o.run(b, rule) })
		}
	}
}

// openBench is a check whose newest result makes two rules fire.
type openBench struct {
	store *storage.Store
	check vigil.Check
	rules map[string]vigil.Rule // by their key
	vote  vigil.Vote
}

// newOpenBench stores n results: of a check that fails, between two DNS answers.
func newOpenBench(b *testing.B, s *storage.Store, n int) *openBench {
	b.Helper()
	org, _ := newOrg(b, s)
	o := &openBench{store: s, check: newCheck(b, s, draft(org.ID, newark)), rules: map[string]vigil.Rule{}}
	channel, err := s.CreateChannel(b.Context(), vigil.Channel{
		OrgID: org.ID, Name: "hook", Type: vigil.ChannelWebhook, Config: json.RawMessage(`{}`), Enabled: true,
	})
	if err != nil {
		b.Fatal(err)
	}
	for key, condition := range map[string]vigil.Condition{
		vigil.KeySSLDaysRemaining: {SSLDaysRemaining: new(14)}, vigil.KeyDNSChanged: {DNSChanged: true},
	} {
		rule, err := s.CreateRule(b.Context(), vigil.Rule{
			OrgID: org.ID, CheckID: o.check.ID, Name: key, Condition: condition,
			Channels: []uuid.UUID{channel.ID}, NotifyOn: vigil.NotifyBoth, Policy: vigil.AnyRegion, Enabled: true,
		})
		if err != nil {
			b.Fatal(err)
		}
		o.rules[key] = rule
	}
	oldest := epoch().Add(-time.Duration(n) * time.Second)
	newest := oldest.Add(time.Duration(n-1) * time.Second)
	for _, query := range []string{
		`INSERT INTO results (check_id, region, slot, id, time, manual, success, response_time_ms, error_message, metadata)
			SELECT ?0, ?1, ?2::timestamptz + n * interval '1 second', gen_random_uuid(),
				?2::timestamptz + n * interval '1 second', false, n IN (0, ?3 - 1), 5,
				'timeout', CASE WHEN n IN (0, ?3 - 1)
					THEN jsonb_build_object('cert_days_remaining', 9, 'fingerprint', 'A example.com:' || n, 
						'answers', jsonb_build_array('192.0.2.' || n % 256))
					ELSE '{"cert_days_remaining": 9}'::jsonb END
			FROM generate_series(0, ?3 - 1) AS n`,
		"VACUUM ANALYZE results", // or autovacuum does it meanwhile
	} {
		if _, err := s.DB().NewRaw(query, o.check.ID, newark, oldest, n).Exec(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	ssl, dns := o.rules[vigil.KeySSLDaysRemaining].ID, o.rules[vigil.KeyDNSChanged].ID
	o.vote = vigil.Vote{
		Region: newark, Revision: 3, Slot: newest, Firing: []uuid.UUID{ssl, dns},
		Matches: []vigil.Match{
			{Rule: ssl, Keys: []string{vigil.KeySSLDaysRemaining}, Days: new(9)},
			{Rule: dns, Keys: []string{vigil.KeyDNSChanged}, PreviousAnswer: oldest},
		},
	}
	return o
}

// run opens incidents and resolves them, of which only the opening counts.
func (o *openBench) run(b *testing.B, rule string) {
	b.Helper()
	var took []time.Duration
	for b.Loop() {
		request := vigil.OpenRequest{
			ID: uuid.New(), CheckID: o.check.ID, Rules: []uuid.UUID{o.rules[rule].ID}, Votes: []vigil.Vote{o.vote},
		}
		start := time.Now()
		out, err := o.store.OpenIncident(b.Context(), request)
		took = append(took, time.Since(start))
		if err != nil || !out.Changed {
			b.Fatalf("opened %+v, %v", out, err)
		}
		b.StopTimer()
		incident, err := o.store.Incident(b.Context(), o.check.OrgID, out.Incident.ID)
		if trigger := incident.Trigger; err != nil || len(trigger.Matched) != 1 || trigger.Matched[0] != rule ||
			rule == vigil.KeyDNSChanged && (trigger.DNSPrevious == "" || trigger.DNSCurrent == "") {
			b.Fatalf("the incident has the trigger %+v, %v", trigger, err)
		}
		resolve := vigil.ResolveRequest{ID: out.Incident.ID, Resolution: vigil.ResolvedAutomatically}
		if _, err := o.store.ResolveIncident(b.Context(), resolve); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
}
