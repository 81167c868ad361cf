package web_test

import (
	"net/http"
	"strings"
	"testing"
)

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
