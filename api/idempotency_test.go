// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
)

const keyHeader = "Idempotency-Key"

// TestRepeatedCreation repeats every request that creates a resource.
func TestRepeatedCreation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	check, channel := text(a.check(t), "id"), text(a.channel(t), "id")
	for path, body := range map[string]map[string]any{
		"/v1/checks": newCheck(),
		"/v1/notification-channels": {
			"name": "Hook", "type": "webhook", "config": map[string]any{"url": "http://127.0.0.1:9/hook", "secret": "hunter2"},
		},
		"/v1/checks/" + check + "/alerts": {
			"name": "Down", "condition": map[string]any{"failure_threshold": 2}, "notification_channel_ids": []string{channel}, "notify_on": "both",
		},
		"/v1/api-keys": {"name": "deployment"},
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			first := a.want(t, http.StatusCreated, http.MethodPost, path, body, keyHeader, "one"+path)
			second := a.want(t, http.StatusCreated, http.MethodPost, path, body, keyHeader, "one"+path)
			if got := second.header.Get("Idempotent-Replayed"); got != "true" || first.header.Get("Idempotent-Replayed") != "" {
				t.Errorf("the answers say replayed: %q and %q", first.header.Get("Idempotent-Replayed"), got)
			}
			want := first.raw
			if key := text(first.data(t), "api_key"); key != "" {
				want = bytes.Replace(want, []byte(key), nil, 1) // it is shown once
			}
			if !bytes.Equal(second.raw, want) {
				t.Errorf("the repeated request is answered with\n%s\nwant\n%s", second.raw, want)
			}
			created := 0
			for _, row := range a.want(t, http.StatusOK, http.MethodGet, path, nil).rows(t) {
				if row["id"] == first.data(t)["id"] || path == "/v1/checks/"+check+"/alerts" {
					created++
				}
			}
			if created != 1 {
				t.Errorf("%d resources were created", created)
			}

			other := a.want(t, http.StatusBadRequest, http.MethodPost, path, changed(body, with("name", "another")), keyHeader, "one"+path)
			if other.detail("member") != keyHeader {
				t.Errorf("another body with the same key: %s", other.raw)
			}
		})
	}
}

// changed returns a changed copy of a body.
func changed(body map[string]any, change func(map[string]any)) map[string]any {
	body = maps.Clone(body)
	change(body)
	return body
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()

	t.Run("BelongsToOneOrganization", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		first := b.signup(t).want(t, http.StatusCreated, http.MethodPost, "/v1/checks", newCheck(), keyHeader, "same")
		second := b.signup(t).want(t, http.StatusCreated, http.MethodPost, "/v1/checks", newCheck(), keyHeader, "same")
		if first.data(t)["id"] == second.data(t)["id"] {
			t.Error("two organizations share the answer of a key")
		}
	})

	t.Run("LastsADay", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		a := b.signup(t)
		create := func() any {
			return a.want(t, http.StatusCreated, http.MethodPost, "/v1/checks", newCheck(), keyHeader, "same").data(t)["id"]
		}
		first := create()
		b.clock.Advance(24*time.Hour - time.Second)
		if create() != first {
			t.Error("the key is forgotten before its day is over")
		}
		b.clock.Advance(time.Second)
		if create() == first {
			t.Error("the key is known after its day")
		}
	})

	t.Run("IsFreeAfterAFailure", func(t *testing.T) {
		t.Parallel()
		a := setup(t).signup(t)
		a.want(t, http.StatusBadRequest, http.MethodPost, "/v1/checks", newCheck(with("interval_seconds", 1)), keyHeader, "same")
		a.want(t, http.StatusCreated, http.MethodPost, "/v1/checks", newCheck(), keyHeader, "same")
	})

	t.Run("IsRefusedWhenMalformed", func(t *testing.T) {
		t.Parallel()
		a := setup(t).signup(t)
		for _, key := range []string{"two words", "naïve", strings.Repeat("k", 256)} {
			r := a.want(t, http.StatusBadRequest, http.MethodPost, "/v1/checks", newCheck(), keyHeader, key)
			if r.detail("member") != keyHeader {
				t.Errorf("%q: %s", key, r.raw)
			}
		}
	})

	t.Run("IsAuditedOnce", func(t *testing.T) {
		t.Parallel()
		a := setup(t).signup(t)
		for range 3 {
			a.want(t, http.StatusCreated, http.MethodPost, "/v1/checks", newCheck(), keyHeader, "same")
		}
		entries := 0
		for _, entry := range a.want(t, http.StatusOK, http.MethodGet, "/v1/audit-log", nil).rows(t) {
			if entry["action"] == "check.create" {
				entries++
			}
		}
		if entries != 1 {
			t.Errorf("%d entries in the audit log", entries)
		}
	})
}

// TestConcurrentRepetition sends the same request many times at once: one check is created,
// and a request that is not answered with it is asked to wait.
func TestConcurrentRepetition(t *testing.T) {
	t.Parallel()
	a := setup(t).signup(t)
	const senders = 12
	var created, asked sync.Map
	var wg sync.WaitGroup
	for i := range senders {
		wg.Go(func() {
			r := a.do(t, http.MethodPost, "/v1/checks", newCheck(), keyHeader, "same")
			switch {
			case r.status == http.StatusCreated:
				created.Store(r.data(t)["id"], true)
			case r.status == http.StatusConflict && r.header.Get("Retry-After") != "":
				asked.Store(i, true)
			default:
				t.Errorf("answer %d %s", r.status, r.raw)
			}
		})
	}
	wg.Wait()
	ids := 0
	created.Range(func(any, any) bool { ids++; return true })
	if rows := a.want(t, http.StatusOK, http.MethodGet, "/v1/checks", nil).rows(t); ids != 1 || len(rows) != 1 {
		t.Errorf("%d ids are answered, and %d checks exist", ids, len(rows))
	}
}

// TestRepeatedTest repeats a request that sends something: a test of a check.
func TestRepeatedTest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	runs := 0
	b.loops.test = func(vigil.Check, string, bool) (vigil.Result, error) {
		runs++
		return vigil.Result{Observation: vigil.Observation{Success: true}}, nil
	}
	path := "/v1/checks/" + text(a.check(t), "id") + "/test"
	first := a.want(t, http.StatusOK, http.MethodPost, path, nil, keyHeader, "same")
	second := a.want(t, http.StatusOK, http.MethodPost, path, nil, keyHeader, "same")
	if runs != 1 || !bytes.Equal(first.raw, second.raw) {
		t.Errorf("%d runs; answers\n%s\n%s", runs, first.raw, second.raw)
	}
	a.want(t, http.StatusBadRequest, http.MethodPost, path+"?dry_run=true", nil, keyHeader, "same")
}
