// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
)

const document = `{"status": "ok", "agent": "007", "version": "1.10", "hash": "0e12345", "id": "9007199254740993", "text": "12 apples",
	"fine": 0.1000000000000000055, "thousand": 1e3, "huge": 1e400, "tenth": 0.10, "negative": -0.0, "word": "żółw",
	"count": 3, "ratio": 0.5, "big": 9007199254740993, "none": null, "yes": true,
	"items": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}], "empty": {}}`

func TestAssertions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	plain := w.http(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Add("X-Many", "one")
		w.Header().Add("X-Many", "two")
		w.Header().Set("X-Number", "15")
		w.Header().Set("X-Version", "1.10")
		w.Header().Set("X-Agent", "007")
		w.Header().Set("X-Hash", "0e12345")
		if r.URL.Path == "/html" {
			_, _ = w.Write([]byte("<p>hello</p>"))
			return
		}
		_, _ = w.Write([]byte(document))
	})
	for _, c := range []struct {
		source, property, operator string
		target                     any
		reason                     string // empty: holds
	}{
		{"status", "", "eq", 200, ""},
		{"status", "", "ne", 500, ""},
		{"status", "", "lt", 300, ""},
		{"status", "", "gt", 200, `status is "200", expected to be above 200`},
		{"status", "", "eq", "200", ""},
		{"status", "", "matches", "^20.$", ""},
		{"status", "", "contains", "20", ""},
		{"status", "", "exists", nil, ""},
		{"status", "", "eq", "200.0", ""},
		{"status", "", "eq", 201, `status is "200", expected to equal 201`},
		{"header", "content-type", "eq", "application/json", ""},
		{"header", "X-Many", "contains", "one, two", ""},
		{"header", "X-Number", "gt", 14.5, ""},
		{"header", "X-Version", "eq", "1.1", `header X-Version is "1.10", expected to equal "1.1"`},
		{"header", "X-Version", "eq", 1.1, `header X-Version is "1.10", expected to equal "1.1"`},
		{"header", "X-Version", "ne", "1.1", ""},
		{"header", "X-Version", "lt", 1.2, ""},
		{"header", "X-Agent", "eq", "7", `header X-Agent is "007", expected to equal "7"`},
		{"header", "X-Agent", "gt", 6, ""},
		{"header", "X-Hash", "eq", "0e99999", `header X-Hash is "0e12345", expected to equal "0e99999"`},
		{"header", "X-Many", "lt", 5, `header X-Many is "one, two", which is not a number, expected to be below 5`},
		{"json", "$.agent", "eq", "7", `json $.agent is "007", expected to equal "7"`},
		{"json", "$.version", "eq", "1.1", `json $.version is "1.10", expected to equal "1.1"`},
		{"json", "$.version", "ne", 1.1, ""},
		{"json", "$.hash", "eq", "0e99999", `json $.hash is "0e12345", expected to equal "0e99999"`},
		{"json", "$.id", "eq", "9007199254740992", `json $.id is "9007199254740993", expected to equal "9007199254740992"`},
		{"json", "$.text", "gt", 5, `json $.text is "12 apples", which is not a number, expected to be above 5`},
		{"json", "$.yes", "gt", 0, `json $.yes is "true", which is not a number, expected to be above 0`},
		{"json", "$.none", "lt", 1, `json $.none is "null", which is not a number, expected to be below 1`},
		{"json", "$.big", "eq", json.Number("9007199254740992"), `json $.big is "9007199254740993", expected to equal 9007199254740992`},
		{"json", "$.big", "gt", json.Number("9007199254740992"), ""},
		{"json", "$.fine", "eq", 0.1, `json $.fine is "0.1000000000000000055", expected to equal 0.1`},
		{"json", "$.fine", "gt", 0.1, ""},
		{"json", "$.thousand", "eq", 1000, ""},
		{"json", "$.thousand", "eq", "1000.00", ""},
		{"json", "$.huge", "gt", json.Number("9e399"), ""},
		{"json", "$.huge", "eq", json.Number("1e401"), `json $.huge is "1e400", expected to equal 1e401`},
		{"json", "$.tenth", "eq", 0.1, ""},
		{"json", "$.negative", "eq", 0, ""},
		{"json_length", "$.items", "eq", 2, ""},
		{"json_length", "$.items", "gt", 2, `the length of json $.items is "2", expected to be above 2`},
		{"json_length", "$.items[0]", "eq", 2, ""},
		{"json_length", "$.word", "eq", 4, ""},
		{"json_length", "$.empty", "lt", 1, ""},
		{"json_length", "$.count", "eq", 1, "json $.count is not a list, an object or a string, so it has no length"},
		{"json_length", "$.missing", "eq", 0, "json $.missing is absent"},
		{"url", "", "contains", "127.0.0.1", ""},
		{"url", "", "eq", plain, ""},
		{"url", "", "eq", plain + "/other", "the final URL, at " + strings.TrimPrefix(plain, "http://") + ", was expected to equal"},
		{"protocol", "", "eq", "HTTP/1.1", ""},
		{"protocol", "", "ne", "HTTP/2", ""},
		{"protocol", "", "eq", "h2", `protocol is "HTTP/1.1", expected to equal "HTTP/2"`},
		{"body", "", "gt", 1, "the body is not a number, expected to be above 1"},
		{"header", "X-Number", "lt", 15, `header X-Number is "15", expected to be below 15`},
		{"header", "X-None", "exists", nil, "header X-None is absent"},
		{"header", "X-None", "exists", false, ""},
		{"header", "X-None", "ne", "x", ""},
		{"header", "X-None", "not_contains", "x", ""},
		{"header", "X-None", "eq", "", "header X-None is absent"},
		{"header", "X-Many", "exists", false, "header X-Many exists, expected not to"},
		{"body", "", "contains", `"status": "ok"`, ""},
		{"body", "", "not_contains", "error", ""},
		{"body", "", "contains", "error", `the body was expected to contain "error"`},
		{"body", "", "not_contains", "ok", `the body was expected to not contain "ok"`},
		{"body", "", "matches", `"count":\s*3`, ""},
		{"body", "", "matches", `^x`, `the body was expected to match "^x"`},
		{"body", "", "exists", true, ""},
		{"body", "", "exists", false, "the body is not empty, expected to be"},
		{"json", "$.status", "eq", "ok", ""},
		{"json", "$.status", "eq", "down", `json $.status is "ok", expected to equal "down"`},
		{"json", "$.count", "eq", 3, ""},
		{"json", "$.count", "eq", 3.0, ""},
		{"json", "$.count", "gt", 2, ""},
		{"json", "$.ratio", "lt", 0.6, ""},
		{"json", "$.big", "eq", "9007199254740993", ""},
		{"json", "$.yes", "eq", true, ""},
		{"json", "$.none", "eq", "null", ""},
		{"json", "$.none", "exists", nil, ""},
		{"json", "$.missing", "exists", nil, "json $.missing is absent"},
		{"json", "$.missing", "exists", false, ""},
		{"json", "$.items[*].id", "eq", 2, ""},
		{"json", "$.items[*].id", "ne", 2, `json $.items[*].id is "2", expected to differ from 2`},
		{"json", "$.items[?(@.id == 2)].name", "eq", "b", ""},
		{"json", "$.items[-1].name", "eq", "b", ""},
		{"json", "$..name", "contains", "a", ""},
		{"json", "$.empty", "eq", "{}", ""},
		{"json", "$.items[0,1].name", "matches", "^b$", ""},
		{"response_time", "", "lt", 60000, ""},
		{"response_time", "", "gt", 60000, "response time (ms) is "},
		{"cert_days", "", "gt", 5, "certificate is absent"},
	} {
		name := strings.Join([]string{c.source, c.property, c.operator}, " ")
		assertion := object{"source": c.source, "operator": c.operator}
		if c.property != "" {
			assertion["property"] = c.property
		}
		if c.target != nil {
			assertion["target"] = c.target
		}
		seen := w.run(vigil.TypeHTTP, object{"url": plain, "expected_status_code": 200, "assertions": []object{assertion}})
		if seen.Success != (c.reason == "") || !strings.HasPrefix(seen.Error, c.reason) {
			t.Errorf("%s %v: got %q, want %q", name, c.target, seen.Error, c.reason)
		}
		if failed, _ := seen.Metadata["failed_assertions"].([]any); (len(failed) == 1) == seen.Success {
			t.Errorf("%s %v: metadata lists %v", name, c.target, failed)
		}
	}
	html := w.run(vigil.TypeHTTP, object{"url": plain + "/html", "assertions": []object{
		{"source": "json", "property": "$.x", "operator": "exists", "target": false},
	}})
	if !strings.Contains(html.Error, "not valid JSON") {
		t.Errorf("a page is no document: %q", html.Error)
	}
}

func TestCertificateAssertion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := w.https(w.authority.Issue(t), site)
	for target, holds := range map[int]bool{89: true, 90: false} {
		seen := w.run(vigil.TypeHTTPS, object{"url": url + "/ok", "assertions": []object{
			{"source": "cert_days", "operator": "gt", "target": target},
		}})
		if seen.Success != holds {
			t.Errorf("more than %d days of 90: %+v", target, seen)
		}
	}
}

// TestPathsAreBounded asks for much of a document that is made to be expensive.
func TestPathsAreBounded(t *testing.T) { //nolint:paralleltest // measures time
	w := newWorld(t)
	deep := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
	wide := "[" + strings.Repeat("[[[[1]]]],", 80_000) + "1]"
	most := "[" + strings.Repeat("[[[[1]]]],", 9_900) + "1]"
	tooDeep := strings.Repeat("[", 500_000) + strings.Repeat("]", 500_000)
	url := w.http(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(map[string]string{"/deep": deep, "/wide": wide, "/most": most, "/too-deep": tooDeep}[r.URL.Path]))
	})
	for _, path := range []string{"$..*", "$..[0,0][0,0]", "$..[0,0,0,0,0]", "$..[?(@[*][*][*] == 1)]", "$[*][*][*][*]", "$..[0][0][0][0]"} {
		for _, body := range []string{"/deep", "/wide", "/most", "/too-deep"} {
			const limit = 2 * time.Second * slowdown
			best := time.Duration(math.MaxInt64)
			for try := 0; try < 3 && best > limit; try++ { // a busy machine is late, but not every time
				began := time.Now()
				w.run(vigil.TypeHTTP, object{"url": url + body, "assertions": []object{
					{"source": "json", "property": path, "operator": "eq", "target": "nothing"},
				}})
				best = min(best, time.Since(began))
			}
			t.Logf("%s of %s took %s", path, body, best)
			if best > limit {
				t.Errorf("%s of %s took %s", path, body, best)
			}
		}
	}
}
