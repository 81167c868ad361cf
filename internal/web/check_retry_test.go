// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage"
)

// retried stores a result of a check that succeeded at its second attempt.
func (o *office) retried(t *testing.T, check string) {
	t.Helper()
	def, err := o.site.store.Definition(t.Context(), uuid.MustParse(check))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	results := storage.NewResultWriter(o.site.store, storage.WriterOptions{})
	go func() { _ = results.Run(ctx) }()
	region := def.Check.Regions[0]
	schedule, _ := def.Schedule(region)
	slot := schedule.First()
	failed := []vigil.FailedAttempt{{Error: "connection refused", ResponseTime: 3 * time.Millisecond}}
	seen := vigil.Observation{Success: true, ResponseTime: 20 * time.Millisecond, Metadata: vigil.WithAttempts(nil, failed)}
	_, err = results.Write(t.Context(), vigil.ResultRow{Worker: "w1", Deadline: 5 * time.Second, Result: vigil.Result{
		ID: vigil.ResultID(def.Check.ID, region, slot), CheckID: def.Check.ID, Region: region, Slot: slot, Time: slot, Observation: seen,
	}})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRetryByForm creates a check that retries, with a mistake first, and takes the retry
// back.
func TestRetryByForm(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	p := o.view(t, "/app/checks/new?type=https")
	for field, value := range map[string]string{
		"name": "Orders", "config.url": "https://orders.harbor.example/", "config.method": "POST", "retry.attempts": "4",
		"retry.delay_seconds": "5", "retry.on": "network",
	} {
		p.enter(t, field, value)
	}
	p = p.press(t, "")
	if got := p.wrong(t, "retry.attempts"); p.status != http.StatusUnprocessableEntity || got == "" {
		t.Fatalf("status %d, message %q", p.status, got)
	}
	p.enter(t, "retry.attempts", "2")
	p = p.press(t, "")
	if got := p.wrong(t, "retry.unsafe"); p.status != http.StatusUnprocessableEntity || !strings.Contains(got, "config.method is POST") {
		t.Fatalf("status %d, message %q", p.status, got)
	}
	p.enter(t, "config.method", "GET")
	if p = p.press(t, ""); p.status != http.StatusSeeOther {
		t.Fatalf("status %d, %s", p.status, p.summary())
	}
	path := p.location
	if page := o.view(t, path); !strings.Contains(page.raw, "tried again up to 2 times after 5 s, failures of the network only") {
		t.Error("the page of the check does not say that it retries")
	}
	o.retried(t, strings.TrimPrefix(path, "/app/checks/"))
	page := o.view(t, path)
	for _, want := range []string{"attempt 2", "Attempt 1", "connection refused (3 ms)"} {
		if !strings.Contains(page.raw, want) {
			t.Errorf("the result does not show %q", want)
		}
	}
	p = o.view(t, path+"/edit")
	for field, want := range map[string]string{"retry.attempts": "2", "retry.delay_seconds": "5", "retry.on": "network", "retry.unsafe": ""} {
		if got := p.values.Get(field); got != want {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
	p.enter(t, "retry.attempts", "")
	p.enter(t, "retry.delay_seconds", "")
	p.enter(t, "retry.on", "any")
	if p = p.press(t, ""); p.status != http.StatusSeeOther {
		t.Fatalf("status %d, %s", p.status, p.summary())
	}
	if page := o.view(t, path); strings.Contains(page.raw, "tried again") {
		t.Error("the retry is still there")
	}
}
