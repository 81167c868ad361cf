// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/vigil-monitor/vigil"
)

// TestValuesAreEscapedForTheirPlace sends what a first step extracted in a second one, and reads
// there what arrived.
func TestValuesAreEscapedForTheirPlace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const hostile = `a"b\\c</x>&amp;]]> ё`
	text := strings.ReplaceAll(hostile, `\\`, `\`)
	source := w.http(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(object{
			"text": text, "object": object{"a": []int{1, 2}}, "list": []any{"x", nil}, "number": 7, "yes": true, "like": `{"admin":true}`,
		})
	})
	extract := []object{}
	for _, name := range []string{"text", "object", "list", "number", "yes", "like"} {
		extract = append(extract, object{"name": name, "source": "json", "property": "$." + name})
	}
	type sent struct {
		body string
		url  *url.URL
	}
	for name, c := range map[string]struct {
		kind, body, query string
		check             func(sent) bool
	}{
		"JSONObject": {
			"application/json", `{"o": {{object}}, "l": {{list}}}`, "",
			func(s sent) bool { return s.body == `{"o": {"a":[1,2]}, "l": ["x",null]}` },
		},
		"JSONScalars": {
			"application/json", `{"n": {{number}}, "y": {{yes}}}`, "", func(s sent) bool { return s.body == `{"n": 7, "y": true}` },
		},
		"JSONTextWithoutQuotes": {
			"application/json", `[{{text}}]`, "",
			func(s sent) bool { return decodes(s.body, []any{text}) },
		},
		"JSONTextInQuotes": {
			"application/json", `["x{{text}}", "\\"]`, "",
			func(s sent) bool { return decodes(s.body, []any{"x" + text, `\`}) },
		},
		"JSONObjectInQuotes": {
			"application/json", `["{{object}}"]`, "",
			func(s sent) bool { return decodes(s.body, []any{`{"a":[1,2]}`}) },
		},
		"JSONTextIsNoObject": {
			"application/json", `[{{like}}]`, "",
			func(s sent) bool { return decodes(s.body, []any{`{"admin":true}`}) },
		},
		"JSONSuffix": {
			"application/problem+json", `[{{text}}]`, "",
			func(s sent) bool { return decodes(s.body, []any{text}) },
		},
		"JSONWithoutType": {"", `[{{text}}]`, "", func(s sent) bool { return decodes(s.body, []any{text}) }},
		"XML": {
			"application/xml", `<x a="{{text}}">{{text}}</x>`, "",
			func(s sent) bool { return isXML(s.body, text) },
		},
		"SOAP": {
			"application/soap+xml", `<x a="{{text}}">{{text}}</x>`, "",
			func(s sent) bool { return isXML(s.body, text) },
		},
		"XMLWithoutType": {"", `<x a="{{text}}">{{text}}</x>`, "", func(s sent) bool { return isXML(s.body, text) }},
		"CDATA": {
			"text/xml", `<x a="{{text}}"><![CDATA[{{text}}]]></x>`, "",
			func(s sent) bool { return isXML(s.body, text) },
		},
		"Form": {"application/x-www-form-urlencoded", `a={{text}}&b=1`, "", func(s sent) bool {
			values, err := url.ParseQuery(s.body)
			return err == nil && values.Get("a") == text && values.Get("b") == "1"
		}},
		"Text": {"text/plain", `{{text}}`, "", func(s sent) bool { return s.body == text }},
		"Query": {
			"text/plain", ``, "?q={{text}}&r=1",
			func(s sent) bool { return s.url.Query().Get("q") == text && s.url.Query().Get("r") == "1" },
		},
		"Path":       {"text/plain", ``, "/a{{text}}b/c", func(s sent) bool { return s.url.Path == "/a"+text+"b/c" }},
		"LiteralURL": {"text/plain", ``, "?q={{{{text}}", func(s sent) bool { return s.url.Query().Get("q") == "{{text}}" }},
		"Literal":    {"text/plain", "{{{{text}} {{number}}", "", func(s sent) bool { return s.body == "{{text}} 7" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var got sent
			target := w.http(func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				defer mu.Unlock()
				got = sent{string(body), r.URL}
			})
			address := target + "/"
			if strings.HasPrefix(c.query, "/") {
				address = target
			}
			second := object{"url": address + c.query, "method": "POST", "body": c.body}
			if c.kind != "" {
				second["headers"] = object{"Content-Type": c.kind}
			}
			seen := w.run(vigil.TypeMultistep, object{"steps": []object{
				{"name": "get", "type": "http", "config": object{"url": source}, "extract": extract},
				{"name": "put", "type": "http", "config": second},
			}})
			mu.Lock()
			defer mu.Unlock()
			if !seen.Success || !c.check(got) {
				t.Errorf("%q: arrived %q at %v", seen.Error, got.body, got.url)
			}
		})
	}
}

func decodes(body string, want any) bool {
	var got any
	if json.Unmarshal([]byte(body), &got) != nil {
		return false
	}
	one, err := json.Marshal(got)
	other, otherErr := json.Marshal(want)
	return err == nil && otherErr == nil && string(one) == string(other)
}

func isXML(body, want string) bool {
	var got struct {
		A    string `xml:"a,attr"`
		Text string `xml:",chardata"`
	}
	return xml.Unmarshal([]byte(body), &got) == nil && got.A == want && got.Text == want
}

// TestBodyThatClaimsJSON: a body with values in it that is no JSON is not sent.
func TestBodyThatClaimsJSON(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	steps := func(body string) json.RawMessage {
		return encode(t, object{"steps": []object{
			{"name": "a", "type": "http", "config": object{"url": "http://a.test/"}, "extract": []object{{"name": "x", "source": "status"}}},
			{"name": "b", "type": "http", "config": object{
				"url": "http://a.test/", "method": "POST", "body": body, "headers": object{"content-type": "Application/JSON; charset=utf-8"},
			}},
		}})
	}
	_, err := w.Parse(vigil.TypeMultistep, steps(`{"a": {{x}}`), minute)
	rejected(t, err, "config.steps[1].config.body")
	if _, err := w.Parse(vigil.TypeMultistep, steps(`{"a": {{x}}}`), minute); err != nil {
		t.Error(err)
	}
	if _, err := w.Parse(vigil.TypeMultistep, steps(`not JSON on purpose`), minute); err != nil {
		t.Error(err)
	}
}
