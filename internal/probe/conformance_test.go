// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/vigil-monitor/vigil"
)

// fixture is what the suite needs to know about a type: configs against real
// servers.
type fixture struct {
	kind    vigil.CheckType
	healthy object // succeeds
	failing object // fails
	silent  object // its target takes connections and says nothing
	secrets []string
}

// fixtures makes one of each type: the type's own test adds it.
var fixtures []func(*world) fixture //nolint:gochecknoglobals // written before the tests, read afterwards

// addFixture is called as: var _ = addFixture(fixtureTCP).
func addFixture(make func(*world) fixture) bool {
	fixtures = append(fixtures, make)
	return true
}

func allFixtures(w *world) map[vigil.CheckType]fixture {
	found := make(map[vigil.CheckType]fixture)
	for _, make := range fixtures {
		f := make(w)
		found[f.kind] = f
	}
	return found
}

func forEachType(t *testing.T, test func(*testing.T, *world, fixture)) {
	t.Helper()
	w := newWorld(t)
	known := allFixtures(w)
	for _, kind := range w.Types() {
		if kind == vigil.TypeHeartbeat {
			continue // nothing is probed; see TestHeartbeat
		}
		t.Run(string(kind), func(t *testing.T) {
			f, ok := known[kind]
			if !ok {
				t.Fatal("the type has no fixture: its test adds one")
			}
			test(t, w, f)
		})
	}
}

// rejected fails the test unless the error is a 400 that names the member.
func rejected(t *testing.T, err error, member string) {
	t.Helper()
	rejection, ok := errors.AsType[*vigil.Error](err)
	if !ok || rejection.Code != vigil.CodeInvalid {
		t.Errorf("%s: got %v, want it rejected", member, err)
		return
	}
	if rejection.Details["member"] != member || !strings.HasPrefix(rejection.Message, member+": ") {
		t.Errorf("the error names %v, want %s: %s", rejection.Details["member"], member, rejection.Message)
	}
}

func TestConformance(t *testing.T) { //nolint:paralleltest // leaks are counted for the whole process
	for _, c := range []struct { //nolint:paralleltest // as above
		fact string
		test func(*testing.T, *world, fixture)
	}{
		{"EmptyConfigIsRejected", emptyIsRejected},
		{"MistakesAreNamed", mistakesAreNamed},
		{"EverythingIsDocumented", isDocumented},
		{"SecretMembersAreTagged", membersAreTagged},
		{"SecretsAreSealedAndMasked", secretsAreSealed},
		{"DeadlineFitsTheInterval", deadlineFits},
		{"HealthyTargetSucceeds", healthySucceeds},
		{"FailureHasAReason", failureHasReason},
		{"EndedContextIsObeyed", endedContextIsObeyed},
		{"DeadlineIsAbsolute", deadlineIsAbsolute},
		{"NothingIsLeft", nothingIsLeft},
	} {
		t.Run(c.fact, func(t *testing.T) { forEachType(t, c.test) })
	}
}

func emptyIsRejected(t *testing.T, w *world, f fixture) {
	t.Helper()
	for _, config := range []string{"", "null", "{}", "[]", "1", `"x"`, "{", "{}{}", "\xff"} {
		if parsed, err := w.Parse(f.kind, json.RawMessage(config), minute); err == nil || vigil.ErrorCode(err) != vigil.CodeInvalid {
			t.Errorf("%q gave %v, %v", config, parsed, err)
		}
	}
}

func mistakesAreNamed(t *testing.T, w *world, f fixture) {
	t.Helper()
	with := func(name string, value any) json.RawMessage {
		config := maps.Clone(f.healthy)
		config[name] = value
		return encode(t, config)
	}
	_, err := w.Parse(f.kind, with("no_such_member", 1), minute)
	rejected(t, err, "config.no_such_member")
	fields := reflect.TypeOf(w.Config(f.kind))
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		var wrong any = []any{object{"a": []int{1}}}
		if fields.Field(i).Type.Kind() == reflect.Slice {
			wrong = "not a list"
		}
		_, err := w.Parse(f.kind, with(name, wrong), minute)
		rejected(t, err, "config."+name)
	}
	text := encode(t, f.healthy)
	_, err = w.Parse(f.kind, append(slices.Clone(text[:len(text)-1]), `,"zz":1,"zz":2}`...), minute)
	rejected(t, err, "config.zz")
}

// isDocumented holds the structs that the API's document is made from: every
// member has a name as the interface writes them and a description, down to the
// last level.
func isDocumented(t *testing.T, w *world, f fixture) {
	t.Helper()
	documented(t, reflect.TypeOf(w.Config(f.kind)), "config")
	documented(t, reflect.TypeOf(w.Metadata(f.kind)), "metadata")
}

func documented(t *testing.T, kind reflect.Type, path string) {
	t.Helper()
	for kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice {
		kind = kind.Elem()
	}
	if kind.Kind() != reflect.Struct {
		return
	}
	for i := range kind.NumField() {
		field := kind.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !regexp.MustCompile(`^[a-z][a-z0-9_]*$`).MatchString(name) || field.Tag.Get("doc") == "" {
			t.Errorf("%s.%s has the name %q and the description %q", path, field.Name, name, field.Tag.Get("doc"))
		}
		documented(t, field.Type, path+"."+name)
	}
}

func deadlineFits(t *testing.T, w *world, f fixture) {
	t.Helper()
	for _, interval := range []time.Duration{30 * time.Second, minute, time.Hour} {
		parsed, err := w.Parse(f.kind, encode(t, f.healthy), interval)
		if err != nil {
			t.Errorf("interval %s: %v", interval, err)
			continue
		}
		if d := parsed.Deadline(); d <= 0 || d > interval {
			t.Errorf("interval %s: deadline %s", interval, d)
		}
		if target := parsed.Target(); target == "" || strings.ContainsAny(target, "/?@ ") {
			t.Errorf("target %q", target)
		}
	}
	config := maps.Clone(f.healthy)
	config["timeout_seconds"] = 61
	_, err := w.Parse(f.kind, encode(t, config), time.Hour)
	rejected(t, err, "config.timeout_seconds")
}

func healthySucceeds(t *testing.T, w *world, f fixture) {
	t.Helper()
	skipUnavailable(t, w, f)
	parsed := w.must(f.kind, f.healthy)
	var runs sync.WaitGroup
	for range 4 {
		runs.Go(func() {
			seen := parsed.Run(t.Context())
			if !seen.Success || seen.Error != "" || seen.ResponseTime <= 0 {
				t.Errorf("got %+v", seen)
			}
			presentable(t, w, f, seen)
		})
	}
	runs.Wait()
}

func failureHasReason(t *testing.T, w *world, f fixture) {
	t.Helper()
	skipUnavailable(t, w, f)
	seen := w.run(f.kind, f.failing)
	if seen.Success || seen.Error == "" {
		t.Errorf("got %+v", seen)
	}
	t.Logf("%s", seen.Error)
	presentable(t, w, f, seen)
}

// presentable holds what everyone may see of an observation: bounded, valid,
// without secrets, and with documented members only.
func presentable(t *testing.T, w *world, f fixture, seen vigil.Observation) {
	t.Helper()
	text := seen.Error + string(encode(t, seen.Metadata))
	for _, secret := range f.secrets {
		if strings.Contains(text, secret) {
			t.Errorf("the secret %q shows: %s", secret, text)
		}
	}
	if len(f.secrets) == 0 {
		t.Error("the fixture has no secret, not even the query of a URL; give it something to hide")
	}
	if !utf8.ValidString(seen.Error) || len(seen.Error) > vigil.MaxErrorLength || strings.ContainsAny(seen.Error, "\x00\r\n") {
		t.Errorf("the reason cannot be stored: %q", seen.Error)
	}
	known := make(map[string]bool)
	fields := reflect.TypeOf(w.Metadata(f.kind))
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		known[name] = true
	}
	for name := range seen.Metadata {
		if !known[name] {
			t.Errorf("metadata has the undocumented member %s", name)
		}
	}
}

func endedContextIsObeyed(t *testing.T, w *world, f fixture) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	seen := w.must(f.kind, f.healthy).Run(ctx)
	if took := time.Since(began); took > stuck {
		t.Errorf("returned after %s", took)
	}
	if seen.Success || seen.Error == "" {
		t.Errorf("got %+v", seen)
	}
}

func deadlineIsAbsolute(t *testing.T, w *world, f fixture) {
	t.Helper()
	skipUnavailable(t, w, f)
	parsed := w.must(f.kind, f.silent)
	ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
	defer cancel()
	began := time.Now()
	seen := parsed.Run(ctx)
	if took := time.Since(began); took > stuck {
		t.Errorf("returned after %s", took)
	}
	if seen.Success || seen.Error == "" {
		t.Errorf("got %+v", seen)
	}
	presentable(t, w, f, seen)
	t.Logf("%s", seen.Error)

	config := maps.Clone(f.silent)
	config["timeout_seconds"] = 1
	if parsed, err := w.Parse(f.kind, encode(t, config), minute); err == nil && parsed.Deadline() == time.Second {
		began = time.Now()
		parsed.Run(t.Context())
		if took := time.Since(began); took > time.Second+stuck {
			t.Errorf("with its own deadline it returned after %s", took)
		}
	}
}

func nothingIsLeft(t *testing.T, w *world, f fixture) {
	t.Helper()
	skipUnavailable(t, w, f)
	healthy, failing, silent := w.must(f.kind, f.healthy), w.must(f.kind, f.failing), w.must(f.kind, f.silent)
	goroutines, open := runtime.NumGoroutine(), descriptors(t)
	for range 3 {
		healthy.Run(t.Context())
		failing.Run(t.Context())
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		silent.Run(ctx)
		cancel()
	}
	// The servers take a moment to see that their clients are gone.
	eventually(t, "goroutines and descriptors are where they were", func() bool {
		return runtime.NumGoroutine() <= goroutines && descriptors(t) <= open
	})
}

func skipUnavailable(t *testing.T, w *world, f fixture) {
	t.Helper()
	if err := w.Available(t.Context())[f.kind]; err != nil {
		t.Skip(err)
	}
}
