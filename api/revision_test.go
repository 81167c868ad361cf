// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
)

// revisioned is a resource with a revision, as the tests of revisions use it.
type revisioned struct {
	kind   string
	create any // the body of a POST to list
	list   string
}

func revisionedResources(t *testing.T, a person) []revisioned {
	t.Helper()
	check, channel := a.check(t), a.channel(t)
	rules := "/v1/checks/" + text(check, "id") + "/alerts"
	rule := map[string]any{
		"name": "Down", "condition": map[string]any{"failure_threshold": 1}, "notification_channel_ids": []any{text(channel, "id")},
	}
	return []revisioned{
		{kind: "check", list: "/v1/checks", create: newCheck()},
		{kind: "channel", list: "/v1/notification-channels", create: map[string]any{
			"name": "hook", "type": "webhook", "config": map[string]any{"url": "https://hooks.example.com/x"},
		}},
		{kind: "rule", list: rules, create: rule},
	}
}

func TestRevision(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	for _, r := range revisionedResources(t, a) {
		t.Run(r.kind, func(t *testing.T) {
			t.Parallel()
			made := a.want(t, http.StatusCreated, http.MethodPost, r.list, r.create, "Idempotency-Key", "make-"+r.kind)
			replayed := a.want(t, http.StatusCreated, http.MethodPost, r.list, r.create, "Idempotency-Key", "make-"+r.kind)
			for _, answer := range []answer{made, replayed} {
				if answer.data(t)["revision"] != 1.0 || answer.header.Get("ETag") != `"1"` {
					t.Fatalf("created with ETag %s: %s", answer.header.Get("ETag"), answer.raw)
				}
			}
			path := r.list + "/" + text(made.data(t), "id")
			if got := a.want(t, http.StatusOK, http.MethodGet, path, nil); got.header.Get("ETag") != `"1"` {
				t.Errorf("read with ETag %s", got.header.Get("ETag"))
			}
			readingIsConditional(t, a, path)
			changingIsConditional(t, a, path)
			deletingIsConditional(t, a, path)
		})
	}
}

func readingIsConditional(t *testing.T, a person, path string) {
	t.Helper()
	for _, known := range []string{`"1"`, `W/"1"`, `"0", "1"`, `*`} {
		got := a.want(t, http.StatusNotModified, http.MethodGet, path, nil, "If-None-Match", known)
		if len(got.raw) != 0 || got.header.Get("ETag") != `"1"` {
			t.Errorf("If-None-Match %s: ETag %s, body %q", known, got.header.Get("ETag"), got.raw)
		}
	}
	for _, other := range []string{`"2"`, `"abc"`, `"01"`} {
		a.want(t, http.StatusOK, http.MethodGet, path, nil, "If-None-Match", other)
	}
	malformedTags(t, a, http.MethodGet, path, "If-None-Match")
}

func changingIsConditional(t *testing.T, a person, path string) {
	t.Helper()
	rename := func(name string) map[string]any { return map[string]any{"name": name} }
	got := a.want(t, http.StatusOK, http.MethodPut, path, rename("two"), "If-Match", `"1"`)
	if got.data(t)["revision"] != 2.0 || got.header.Get("ETag") != `"2"` {
		t.Fatalf("changed with ETag %s: %s", got.header.Get("ETag"), got.raw)
	}
	for _, stale := range []string{`"1"`, `W/"2"`, `"abc"`, `"02"`} {
		got := a.want(t, http.StatusPreconditionFailed, http.MethodPut, path, rename("lost"), "If-Match", stale)
		if got.body["code"] != "precondition_failed" || got.detail("revision") != 2.0 || !strings.Contains(got.problem(), `revision is "2"`) {
			t.Errorf("If-Match %s: %s", stale, got.raw)
		}
	}
	if name := a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t)["name"]; name != "two" {
		t.Errorf("a refused change made the name %v", name)
	}
	a.want(t, http.StatusOK, http.MethodPut, path, rename("three"), "If-Match", "*")
	a.want(t, http.StatusOK, http.MethodPut, path, rename("four"), "If-Match", `"1", "3"`)
	a.want(t, http.StatusOK, http.MethodPut, path, rename("five")) // a client that knows no revisions
	whole := a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t)
	if whole["revision"] != 5.0 {
		t.Fatalf("revision %v after four changes", whole["revision"])
	}
	if same := a.want(t, http.StatusOK, http.MethodPut, path, whole); same.data(t)["revision"] != 5.0 {
		t.Errorf("writing what was read makes revision %v", same.data(t)["revision"])
	}
	malformedTags(t, a, http.MethodPut, path, "If-Match")
}

// malformedTags tries headers that are no entity tags.
func malformedTags(t *testing.T, a person, method, path, header string) {
	t.Helper()
	var body any
	if method == http.MethodPut {
		body = map[string]any{"name": "lost"}
	}
	for _, text := range []string{`1`, `"1`, `"1" "2"`, `1, *`, `,`, `'1'`} {
		got := a.want(t, http.StatusBadRequest, method, path, body, header, text)
		if got.detail("member") != header || !strings.Contains(got.problem(), `such as "3"`) {
			t.Errorf("%s: %s answers %s", header, text, got.raw)
		}
	}
}

func deletingIsConditional(t *testing.T, a person, path string) {
	t.Helper()
	a.want(t, http.StatusPreconditionFailed, http.MethodDelete, path, nil, "If-Match", `"4"`)
	a.want(t, http.StatusOK, http.MethodGet, path, nil)
	malformedTags(t, a, http.MethodDelete, path, "If-Match")
	a.want(t, http.StatusNoContent, http.MethodDelete, path, nil, "If-Match", `"5"`)
	a.want(t, http.StatusNotFound, http.MethodDelete, path, nil, "If-Match", `"5"`)
}

func TestRevisionOfConcurrentChanges(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	for _, r := range revisionedResources(t, a) {
		t.Run(r.kind, func(t *testing.T) {
			t.Parallel()
			path := r.list + "/" + text(a.want(t, http.StatusCreated, http.MethodPost, r.list, r.create).data(t), "id")
			const writers = 8
			statuses := make([]int, writers)
			var all sync.WaitGroup
			for i := range writers {
				all.Go(func() {
					statuses[i] = a.do(t, http.MethodPut, path, map[string]any{"name": "writer " + string(rune('a'+i))}, "If-Match", `"1"`).status
				})
			}
			all.Wait()
			counts := make(map[int]int)
			for _, status := range statuses {
				counts[status]++
			}
			if counts[http.StatusOK] != 1 || counts[http.StatusPreconditionFailed] != writers-1 {
				t.Errorf("the answers of %d writers: %v", writers, counts)
			}
		})
	}
}

func TestRevisionStaysWhileTheDefinitionDoes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	check, channel := a.check(t), a.channel(t)
	path := "/v1/checks/" + text(check, "id")
	rule := a.want(t, http.StatusCreated, http.MethodPost, path+"/alerts", map[string]any{
		"name": "Down", "condition": map[string]any{"failure_threshold": 1}, "notification_channel_ids": []any{text(channel, "id")},
	}).data(t)
	a.want(t, http.StatusOK, http.MethodPut, path+"/alerts/"+text(rule, "id"), map[string]any{"name": "Really down"})
	if err := b.store.Restored(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t)
	if got["revision"] != 1.0 {
		t.Errorf("rules and a restore made the revision of the check %v", got["revision"])
	}
	for _, row := range a.want(t, http.StatusOK, http.MethodGet, "/v1/checks", nil).rows(t) {
		if row["revision"] != 1.0 {
			t.Errorf("the list shows revision %v", row["revision"])
		}
	}
	byID := a.want(t, http.StatusOK, http.MethodGet, "/v1/alert-rules/"+text(rule, "id"), nil)
	if byID.header.Get("ETag") != `"2"` {
		t.Errorf("the rule by its id has ETag %s", byID.header.Get("ETag"))
	}
	a.want(t, http.StatusNoContent, http.MethodDelete, path+"/alerts/"+text(rule, "id"), nil, "If-Match", `"2"`)
	a.want(t, http.StatusOK, http.MethodPost, "/v1/checks/bulk", map[string]any{"ids": []any{text(check, "id")}, "action": "disable"})
	if got := a.want(t, http.StatusOK, http.MethodGet, path, nil); got.header.Get("ETag") != `"2"` {
		t.Errorf("a change of several checks makes ETag %s", got.header.Get("ETag"))
	}
}
