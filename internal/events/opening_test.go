// SPDX-License-Identifier: Apache-2.0

package events_test

import (
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/events"
)

const (
	fra, ewr, sin = "eu-central-fra", "na-east-ewr", "ap-southeast-sin"
	named         = "Frankfurt, Newark, Singapore"
)

func failed(status int, words string) vigil.Result {
	return vigil.Result{Region: fra, Observation: vigil.Observation{StatusCode: status, Error: words}}
}

// TestDescribe holds what people read when an incident opens: what was seen, from where, and of how many regions.
func TestDescribe(t *testing.T) {
	t.Parallel()
	passed := func(took time.Duration) vigil.Result {
		return vigil.Result{Region: fra, Observation: vigil.Observation{Success: true, ResponseTime: took, StatusCode: 200}}
	}
	same := func(status int, words string, regions ...string) []events.Fault {
		var list []events.Fault
		for _, region := range regions {
			list = append(list, events.Fault{Region: region, StatusCode: status, Error: words})
		}
		return list
	}
	many := vigil.RegionKeys()
	for name, test := range map[string]struct {
		trigger            vigil.Trigger
		seen               events.Seen
		title, description string
	}{
		"EveryRegion": {
			vigil.Trigger{Matched: []string{"failure_threshold"}, FailureCount: 3, Result: failed(503, "expected status 200, got 503")},
			events.Seen{Faults: same(503, "expected status 200, got 503", fra, ewr, sin), Regions: 3},
			"Shop is failing", "503 from 3 of 3 regions: " + named + ". Expected status 200, got 503. 3 failures in a row.",
		},
		"SomeRegions": {
			vigil.Trigger{Matched: []string{"failure_threshold"}, FailureCount: 1, Result: failed(0, "connection refused.")},
			events.Seen{Faults: same(0, "connection refused.", fra, ewr), Regions: 3},
			"Shop is failing", "Connection refused from 2 of 3 regions: Frankfurt, Newark.",
		},
		"DifferentFaults": {
			vigil.Trigger{Matched: []string{"health_status"}, Result: failed(503, "expected status 200, got 503")},
			events.Seen{Faults: append(same(0, "timeout", ewr), same(503, "", fra, sin)...), Regions: 4},
			"Shop is failing",
			"503 from 2 of 4 regions: Frankfurt, Singapore; timeout from 1 of 4 regions: Newark. Expected status 200, got 503.",
		},
		"OneRegion": {
			vigil.Trigger{Matched: []string{"failure_threshold"}, FailureCount: 2, Result: failed(503, "")},
			events.Seen{Faults: same(503, "", fra), Regions: 1},
			"Shop is failing", "503 from Frankfurt. 2 failures in a row.",
		},
		"ManyRegions": {
			vigil.Trigger{Matched: []string{"failure_threshold"}, Result: failed(500, "")},
			events.Seen{Faults: same(500, "", many...), Regions: len(many)},
			"Shop is failing", "500 from 33 of 33 regions.",
		},
		"SomeOfMany": {
			vigil.Trigger{Matched: []string{"failure_threshold"}, Result: failed(500, "")},
			events.Seen{Faults: same(500, "", many[:9]...), Regions: len(many)},
			"Shop is failing", "500 from 9 of 33 regions: " + events.Cities(many[:5]) + " and 4 more.",
		},
		"Location": {
			vigil.Trigger{Matched: []string{"failure_threshold"}, Result: failed(0, "example.com: no such host")},
			events.Seen{Faults: same(0, "example.com: no such host", "loc-office", fra), Regions: 2},
			"Shop is failing", "example.com: no such host from 2 of 2 regions: loc-office, Frankfurt.",
		},
		"ManyFaults": {
			vigil.Trigger{Matched: []string{"failure_threshold"}, Result: failed(500, "")},
			events.Seen{Faults: append(append(append(append(same(500, "", fra), same(501, "", ewr)...), same(502, "", sin)...),
				same(503, "", "loc-a")...), same(504, "", "loc-b")...), Regions: 5},
			"Shop is failing",
			"500 from 1 of 5 regions: Frankfurt; 501 from 1 of 5 regions: Newark; 502 from 1 of 5 regions: Singapore; and 2 other faults.",
		},
		"Heartbeat": {
			vigil.Trigger{
				Matched: []string{"health_status"},
				Result:  vigil.Result{Region: vigil.HeartbeatRegion, Observation: vigil.Observation{Error: "no ping since 03:00"}},
			},
			events.Seen{Faults: same(0, "no ping since 03:00", vigil.HeartbeatRegion), Regions: 1},
			"Shop is failing", "No ping since 03:00.",
		},
		"NothingStored": {
			vigil.Trigger{Matched: []string{"failure_threshold"}}, events.Seen{Regions: 3}, "Shop is failing", "Failing.",
		},
		"Certificate": {
			vigil.Trigger{Matched: []string{"ssl_days_remaining"}, Days: new(5), Result: passed(0)},
			events.Seen{Regions: 2},
			"Shop: the certificate expires in 5 days", "The certificate expires in 5 days, seen from Frankfurt.",
		},
		"Expired": {
			vigil.Trigger{Matched: []string{"ssl_days_remaining"}, Days: new(-1), Result: passed(0)},
			events.Seen{Regions: 2},
			"Shop: the certificate has expired", "The certificate has expired, seen from Frankfurt.",
		},
		"DNS": {
			vigil.Trigger{Matched: []string{"dns_changed"}, DNSCurrent: "192.0.2.2", Result: passed(0)},
			events.Seen{Regions: 2},
			"Shop: the DNS records changed", "The records were none and are 192.0.2.2, seen from Frankfurt.",
		},
		"Status": {
			vigil.Trigger{Matched: []string{"status_code"}, Result: passed(0)},
			events.Seen{Regions: 1},
			"Shop answers with status 200", "The status is 200, seen from Frankfurt.",
		},
		"FailedStatus": {
			vigil.Trigger{Matched: []string{"status_code"}, Result: failed(503, "")},
			events.Seen{Faults: same(503, "", fra), Regions: 1},
			"Shop answers with status 503", "503 from Frankfurt.",
		},
		"Slow": {
			vigil.Trigger{Matched: []string{"response_time_ms"}, Result: passed(842 * time.Millisecond)},
			events.Seen{Regions: 1},
			"Shop is slow", "The response took 842 ms, seen from Frankfurt.",
		},
		"Budget": {
			vigil.Trigger{Matched: []string{"burn_rate"}, Result: passed(0)},
			events.Seen{Regions: 1},
			"Shop burns its error budget", "Failures use up the error budget faster than the rule allows, seen from Frankfurt.",
		},
		"Up": {
			vigil.Trigger{Matched: []string{"health_status"}, Result: passed(0)},
			events.Seen{Regions: 1},
			"Shop is up", "The check passes, seen from Frankfurt.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			title, description := events.Describe(&test.trigger, "Shop", test.seen)
			if title != test.title || description != test.description {
				t.Errorf("got %q, %q", title, description)
			}
			if strings.Contains(description, "Matched") {
				t.Errorf("%q is not for people", description)
			}
		})
	}
}
