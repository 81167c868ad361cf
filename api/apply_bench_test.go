// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
)

// thousand is a document of 1,000 checks with a rule each, and the name of every check.
func thousand(name string) []byte {
	checks := doc{}
	for i := range 1000 {
		checks[fmt.Sprintf("check-%d", i)] = doc{
			"name": fmt.Sprintf("%s %d", name, i), "type": "https", "regions": []any{"eu-central-fra", "na-east-ewr"},
			"config": doc{
				"url": fmt.Sprintf("https://shop.example.com/%d", i), "expected_status_codes": []any{"2xx"},
				"headers": doc{"Authorization": fmt.Sprintf("Bearer secret-%d", i)}, "timeout": "9s",
			},
			"rules": doc{"down": doc{"condition": doc{"failure_threshold": 2}}},
		}
	}
	text, err := json.Marshal(map[string]any{"project": "bench", "document": doc{
		"version": 1, "defaults": doc{"check": doc{"interval": "1m"}, "rule": doc{"channels": []any{"hook"}}}, "checks": checks,
		"channels": doc{"hook": doc{"type": "webhook", "config": doc{"url": "https://hooks.example.com/x", "secret": "hunter2"}}},
	}})
	if err != nil {
		panic(err)
	}
	return text
}

// dry makes an apply a dry run.
func dry(body []byte) []byte { return append([]byte(`{"dry_run":true,`), body[1:]...) }

// BenchmarkApply measures POST /v1/apply with 1,000 checks in two regions and as many rules:
// creating all, a plan when nothing differs, an apply when nothing differs, and renaming all.
// The goals are 5 s to create them and 500 ms for the plan.
func BenchmarkApply(b *testing.B) {
	bench := newThroughput(b)
	const path = "/v1/apply"
	first := true
	b.Run("Create", func(b *testing.B) {
		for b.Loop() {
			if !first { // a second run of the loop needs an empty project
				b.StopTimer()
				bench.send(b, http.MethodPost, path, []byte(`{"project":"bench","document":{"version":1},"missing":"delete"}`))
				b.StartTimer()
			}
			first = false
			bench.send(b, http.MethodPost, path, thousand("Page"))
		}
	})
	b.Run("PlanUnchanged", func(b *testing.B) {
		for b.Loop() {
			bench.send(b, http.MethodPost, path, dry(thousand("Page")))
		}
	})
	b.Run("ApplyUnchanged", func(b *testing.B) {
		for b.Loop() {
			bench.send(b, http.MethodPost, path, thousand("Page"))
		}
	})
	b.Run("ChangeAll", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			bench.send(b, http.MethodPost, path, thousand(fmt.Sprint("Round ", i)))
		}
	})
}
