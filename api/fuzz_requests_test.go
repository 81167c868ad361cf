// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/api/apitest"
	"github.com/vigil-monitor/vigil/internal/account"
)

// fuzzSeed is the seed of the requests of TestFuzzedRequests.
var fuzzSeed = flag.Uint64("seed", 0, "send the requests of this seed; 0: of a new one") //nolint:gochecknoglobals // a flag

const (
	fuzzedRequests = 5000
	fuzzClients    = 4
	// fuzzDeadline bounds the test: the requests take 10 seconds.
	fuzzDeadline = 3 * time.Minute
)

// TestFuzzedRequests sends requests to every operation, right and wrong, with several credentials.
// The client of the test holds each answer to the document: an undocumented status, a body or a
// header that is not described, and a request that succeeds although it is forbidden are errors.
// `go test ./api -run TestFuzzedRequests -seed N` repeats a run.
func TestFuzzedRequests(t *testing.T) {
	t.Parallel()
	seed := *fuzzSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-seed %d", seed)
	b := setup(t, func(d *api.Deps) { d.Config.AddressRate, d.Config.EnterpriseRate = 1e6, 1e6 })
	owner, other := b.tier(t, b.signup(t), account.TierEnterprise), b.signup(t)
	f := &fuzzer{
		operations: fuzzedOperations(t),
		values:     hostileValues(),
		bodies:     map[string][]map[string]any{},
		ids:        belongings(t, b, owner),
		clients: []*client{
			owner.client,
			owner.client,
			owner.client,
			owner.keyWith(t, account.ScopeRead),
			other.client,
			b.client,
			b.as("vgl_nonsense"),
		},
	}
	for _, s := range specimens(t, f.ids) {
		f.bodies[s.method+" "+s.path] = append(f.bodies[s.method+" "+s.path], s.body)
	}
	ctx, cancel := context.WithTimeout(t.Context(), fuzzDeadline)
	defer cancel()
	var sent atomic.Int64
	var group sync.WaitGroup
	for i := range uint64(fuzzClients) {
		group.Go(func() {
			random := rand.New(rand.NewPCG(seed, i))
			for range fuzzedRequests / fuzzClients {
				if ctx.Err() != nil {
					return
				}
				f.send(t, random) //nolint:contextcheck // a request has the context of the test
				sent.Add(1)
			}
		})
	}
	group.Wait()
	t.Logf("%d requests, answered with %v", sent.Load(), f.answered())
	if sent.Load() < fuzzedRequests {
		t.Errorf("only %d requests were sent", sent.Load())
	}
	// A fuzzer that has lost its credentials, or sends nothing right, finds nothing.
	if right := f.statuses[http.StatusOK].Load(); right < fuzzedRequests/20 {
		t.Errorf("only %d requests are right", right)
	}
	owner.want(t, http.StatusOK, http.MethodGet, "/v1/auth/me", nil)
	for line := range strings.Lines(b.log.String()) {
		if strings.Contains(line, `"level":"ERROR"`) && !strings.Contains(line, `"code":"unavailable"`) { // no worker runs
			t.Errorf("the log has a fault: %.2000s", line)
		}
	}
}

// fuzzedOperations are all operations but a stream, which does not end, and what takes the
// credentials of the test away.
func fuzzedOperations(t *testing.T) []apitest.Operation {
	t.Helper()
	return slices.DeleteFunc(documented(t).Operations(), func(one apitest.Operation) bool {
		return slices.Contains([]string{"stream-alerts", "change-password", "delete-organization"}, one.OperationID)
	})
}

// fuzzer makes requests.
type fuzzer struct {
	operations []apitest.Operation
	values     []any
	bodies     map[string][]map[string]any // right ones, by method and path
	ids        map[string]string           // of the owner's resources, by the beginning of their paths
	clients    []*client
	statuses   [600]atomic.Int64 // how often each was answered
}

// answered says how often each status was answered.
func (f *fuzzer) answered() map[int]int64 {
	counts := map[int]int64{}
	for status := range f.statuses {
		if n := f.statuses[status].Load(); n > 0 {
			counts[status] = n
		}
	}
	return counts
}

// hostileValues are values that no member, or almost none, expects.
func hostileValues() []any {
	deep := any(map[string]any{})
	for range 40 {
		deep = map[string]any{"a": []any{deep}}
	}
	return []any{
		nil,
		true,
		false,
		0,
		-1,
		1,
		7.5,
		1e300,
		-1e15,
		json.Number("1e999"),
		json.Number("99999999999999999999999999"),
		"",
		" ",
		"x",
		"***",
		"\u0000",
		"a\u0000b",
		"\u202e\u200b\ufeff",
		"\U0001f6a8\u00e9",
		"'; DROP TABLE checks; --",
		"{{.Check.Name}}",
		"../../etc/passwd",
		"a\r\nb",
		strings.Repeat("x", 300),
		strings.Repeat("\u00e9", 2100),
		[]any{},
		[]any{nil},
		[]any{[]any{}},
		map[string]any{},
		map[string]any{"": nil},
		map[string]any{"a.b[0]": 1},
		deep,
		"2026-02-30T25:00:00Z",
		"0001-01-01T00:00:00Z",
		"9999-12-31T23:59:59.999999999Z",
		"00000000-0000-0000-0000-000000000000",
		"http://169.254.169.254/",
		"https://[::1]:99999/",
		"file:///etc/passwd",
		"na-east-ewr",
		"read",
		slices.Repeat([]any{"x"}, 1001),
	}
}

// hostileTexts are parts of paths and of queries, encoded.
func hostileTexts() []string {
	return []string{
		"",
		"x",
		"-1",
		"0",
		"1",
		"99999999999999999999",
		"1e3",
		"%00",
		"%ff",
		"%ed%a0%80",
		"%2e%2e%2f",
		"%F0%9F%9A%A8",
		"true",
		"null",
		"24h",
		"*",
		"2026-01-31T12:00:00Z",
		"2026-13-31",
		"00000000-0000-0000-0000-000000000000",
		"%27%20OR%201%3D1--",
		"a%3Db",
		"a%20b",
		strings.Repeat("a", 3000),
	}
}

func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }

var fuzzedParameter = regexp.MustCompile(`{\w+}`)

// send sends one request.
func (f *fuzzer) send(t *testing.T, random *rand.Rand) {
	t.Helper()
	one := pick(random, f.operations)
	prefix, _, _ := strings.Cut(one.Path, "/{")
	path := fuzzedParameter.ReplaceAllStringFunc(one.Path, func(name string) string {
		switch id := f.ids[strings.Trim(name, "{}")]; {
		case random.IntN(6) == 0:
			return "x" + pick(random, hostileTexts())
		case id != "":
			return id
		}
		return f.ids[prefix]
	})
	query := f.query(random, one)
	var body any
	headers := f.headers(random)
	if known := f.bodies[one.Method+" "+one.Path]; known != nil && random.IntN(20) > 0 {
		body = f.body(random, pick(random, known))
	} else if one.Method != http.MethodGet && random.IntN(3) == 0 {
		body = pick(random, []string{"", "null", "[]", `"x"`, "{", "{}{}", `{"a":1,"a":2}`, strings.Repeat("[", 5000), "\xff", " "})
	}
	// Keys and members are kept: each request after one that revoked them would be refused.
	if one.Method == http.MethodDelete && random.IntN(10) > 0 || one.Method == http.MethodDelete && strings.Contains(one.Path, "api-keys") {
		path = fuzzedParameter.ReplaceAllString(one.Path, "01890000-0000-7000-8000-000000000000")
	}
	got := pick(random, f.clients).do(t, one.Method, path+query, body, headers...)
	f.statuses[got.status].Add(1)
	if got.status >= http.StatusInternalServerError && got.status != http.StatusServiceUnavailable {
		t.Errorf("%s %s answers %d: %s: %.1000v", one.Method, path+query, got.status, got.raw, body)
	}
}

// value returns a hostile value of its own, which may be changed again.
func (f *fuzzer) value(random *rand.Rand) any {
	text, err := json.Marshal(pick(random, f.values))
	if err != nil {
		panic(err)
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // some are too large for a float
	if err := decoder.Decode(&value); err != nil {
		panic(err)
	}
	return value
}

// query makes parameters: those of the operation and others.
func (f *fuzzer) query(random *rand.Rand, one apitest.Operation) string {
	var parts []string
	for _, param := range one.Parameters {
		if param.Value.In == openapi3.ParameterInQuery && random.IntN(4) == 0 {
			value := pick(random, hostileTexts())
			if enum := param.Value.Schema.Value.Enum; len(enum) > 0 && random.IntN(2) == 0 {
				value = url.QueryEscape(fmt.Sprint(pick(random, enum)))
			}
			parts = append(parts, param.Value.Name+"="+value)
		}
	}
	if random.IntN(12) == 0 {
		parts = append(parts, pick(random, hostileTexts())+"="+pick(random, hostileTexts()))
	}
	if len(parts) > 0 && random.IntN(12) == 0 {
		parts = append(parts, parts[0])
	}
	if len(parts) == 0 {
		return ""
	}
	return "?" + strings.Join(parts, "&")
}

// headers makes those that the API reads.
func (f *fuzzer) headers(random *rand.Rand) []string {
	var headers []string
	for _, name := range []string{
		"Content-Type", "Idempotency-Key", "If-Match", "If-None-Match", "Accept", "Accept-Encoding", "Content-Encoding", "Origin", "X-Request-Id",
		"X-API-Key", "Range",
	} {
		if random.IntN(16) == 0 {
			headers = append(headers, name, pick(random, []string{
				"x", "*", `"1"`, `W/"1"`, `"1", "2`, "text/plain", "application/xml", "application/json; charset=utf-16", ";", "gzip", "identity;q=0",
				"https://evil.example", "bytes=0-1", "\u00e9", strings.Repeat("k", 300), "application/vnd.vigil+json",
			}))
		}
	}
	return headers
}

// body changes a right body at some places, and sometimes its text.
func (f *fuzzer) body(random *rand.Rand, right map[string]any) any {
	text, err := json.Marshal(right)
	if err != nil {
		panic(err)
	}
	var changed any
	if err := json.Unmarshal(text, &changed); err != nil {
		panic(err)
	}
	for range random.IntN(3) {
		changed = f.change(random, changed)
	}
	if text, err = json.Marshal(changed); err != nil {
		panic(err)
	}
	switch random.IntN(25) {
	case 0:
		return string(text[:random.IntN(len(text)+1)])
	case 1:
		return strings.Replace(string(text), "{", `{"name":"x","name":"y",`, 1)
	case 2:
		return string(text) + "\x00"
	case 3:
		return strings.Replace(string(text), `"`, "\"\xff", 1)
	}
	return string(text)
}

// change returns a value with one change at a random place.
func (f *fuzzer) change(random *rand.Rand, value any) any {
	switch value := value.(type) {
	case map[string]any:
		names := make([]string, 0, len(value))
		for name := range value {
			names = append(names, name)
		}
		slices.Sort(names)
		switch name := append(names, "nonsense")[random.IntN(len(names)+1)]; random.IntN(5) {
		case 0:
			delete(value, name)
		case 1:
			value[name] = f.value(random)
		case 2:
			value[pick(random, []string{"nonsense", "id", "", "Name", "a.b", "__proto__", "managed_by", "labels", "config"})] = f.value(random)
		default:
			value[name] = f.change(random, value[name])
		}
		return value
	case []any:
		if len(value) > 0 && random.IntN(2) == 0 {
			at := random.IntN(len(value))
			value[at] = f.change(random, value[at])
			return value
		}
	}
	return f.value(random)
}
