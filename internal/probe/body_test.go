// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/vigil-monitor/vigil"
)

// asserting is a config with one assertion.
func asserting(url, source, operator string, target any, more object) object {
	config := object{"url": url, "assertions": []object{{"source": source, "operator": operator, "target": target}}}
	for name, value := range more {
		config[name] = value
	}
	return config
}

// TestUnreadBody: what was not read was not seen.
func TestUnreadBody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const filler = 2 << 20
	url := w.http(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/json" {
			_, _ = io.WriteString(w, `{"filler": "`+strings.Repeat("x", filler)+`", "token": "abc"}`)
			return
		}
		_, _ = io.WriteString(w, "begin "+strings.Repeat("x", filler)+" fatal error")
	})
	larger := object{"max_body_bytes": 4 << 20}
	const limit = "the body is larger than 1024 KiB, which max_body_bytes can raise to 16 MiB"
	for _, c := range []struct {
		operator string
		target   any
		more     object
		reason   string
	}{
		{"contains", "begin", nil, ""},
		{"not_contains", "begin", nil, `the body was expected to not contain "begin"`},
		{"contains", "fatal", nil, limit},
		{"not_contains", "fatal", nil, limit},
		{"matches", "fatal", nil, limit},
		{"matches", "^begin", nil, ""},
		{"matches", "x$", nil, limit},
		{"matches", `(?s)^.*x\b`, nil, limit},
		{"eq", "begin", nil, `the body was expected to equal "begin"`},
		{"ne", "begin", nil, ""},
		{"gt", 5, nil, limit},
		{"exists", true, nil, ""},
		{"contains", "fatal", larger, ""},
		{"not_contains", "fatal", larger, `the body was expected to not contain "fatal"`},
		{"matches", "fatal error$", larger, ""},
		{"eq", "begin", object{"max_body_bytes": 3}, limit[:len("the body is larger than ")] + "3 bytes"},
		{"eq", "bogus", object{"max_body_bytes": 3}, `the body was expected to equal "bogus"`},
	} {
		seen := w.run(vigil.TypeHTTP, asserting(url, "body", c.operator, c.target, c.more))
		if seen.Success != (c.reason == "") || !strings.Contains(seen.Error, c.reason) {
			t.Errorf("%s %v %v: got %q, want %q", c.operator, c.target, c.more, seen.Error, c.reason)
		}
	}
	t.Run("JSON", func(t *testing.T) {
		t.Parallel()
		config := object{"url": url + "/json", "assertions": []object{
			{"source": "json", "property": "$.token", "operator": "eq", "target": "abc"},
		}}
		if seen := w.run(vigil.TypeHTTP, config); !strings.Contains(seen.Error, limit) {
			t.Errorf("got %q", seen.Error)
		}
		config["max_body_bytes"] = 4 << 20
		if seen := w.run(vigil.TypeHTTP, config); !seen.Success {
			t.Errorf("with a larger limit: %q", seen.Error)
		}
	})
	t.Run("Pattern", func(t *testing.T) {
		t.Parallel()
		large := "(?:" + strings.Repeat("a?", 150) + ")fatal"
		seen := w.run(vigil.TypeHTTP, asserting(url, "body", "matches", large, larger))
		if seen.Success || !strings.Contains(seen.Error, "of the body are searched with a pattern of this size") {
			t.Errorf("got %q", seen.Error)
		}
	})
	t.Run("Extraction", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct{ path, source, property, reason string }{
			{"/json", "json", "$.token", limit},
			{"/json", "body", `"token": "(\w+)"`, limit},
			{"/", "json", "$.token", limit},
			{"/", "body", `begin (x+)`, limit},
			{"/", "body", `(beg)in`, ""},
		} {
			seen := w.run(vigil.TypeMultistep, object{"steps": []object{{
				"name": "one", "type": "http", "config": object{"url": url + c.path},
				"extract": []object{{"name": "token", "source": c.source, "property": c.property}},
			}}})
			if seen.Success != (c.reason == "") || !strings.Contains(seen.Error, c.reason) {
				t.Errorf("%s %s of %s: got %q", c.source, c.property, c.path, seen.Error)
			}
		}
	})
}

func TestNotJSON(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := w.http(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/html":
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = io.WriteString(w, "<!doctype html><p>log in")
		case "/wrong":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, "<html>503")
		case "/bom":
			_, _ = io.WriteString(w, "\xef\xbb\xbf"+`{"a": 1}`)
		}
	})
	for path, want := range map[string]string{
		"/html":  `the body is not valid JSON: its content type is "text/html"`,
		"/wrong": `the body is not valid JSON: its content type is "application/json", and it looks like HTML`,
		"/empty": "the body is empty, which is not valid JSON",
		"/bom":   "",
	} {
		seen := w.run(vigil.TypeMultistep, object{"steps": []object{{
			"name": "one", "type": "http", "config": object{"url": url + path},
			"extract": []object{{"name": "token", "source": "json", "property": "$.a"}},
		}}})
		if seen.Success != (want == "") || !strings.Contains(seen.Error, want) {
			t.Errorf("%s: got %q", path, seen.Error)
		}
	}
}

// packed returns a text in a content coding.
func packed(t *testing.T, coding, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	var into io.WriteCloser
	var err error
	switch coding {
	case "gzip":
		into = gzip.NewWriter(&out)
	case "zlib":
		into = zlib.NewWriter(&out)
	case "deflate":
		into, err = flate.NewWriter(&out, 6)
	case "br":
		into = brotli.NewWriter(&out)
	case "zstd":
		into, err = zstd.NewWriter(&out)
	}
	if err == nil {
		_, err = io.WriteString(into, text)
	}
	if err == nil {
		err = into.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestContentCodings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const page = "all systems operational"
	gzipped := packed(t, "gzip", page)
	bodies := map[string]struct {
		coding string
		body   []byte
		reason string
	}{
		"Gzip":       {"gzip", gzipped, ""},
		"UpperCase":  {"GZIP", gzipped, ""},
		"XGzip":      {"x-gzip", gzipped, ""},
		"Padded":     {"gzip", append(bytes.Clone(gzipped), make([]byte, 512)...), ""},
		"Garbage":    {"gzip", append(bytes.Clone(gzipped), "garbage"...), ""},
		"TwoMembers": {"gzip", append(packed(t, "gzip", "all systems "), packed(t, "gzip", "operational")...), ""},
		"Zlib":       {"deflate", packed(t, "zlib", page), ""},
		"Deflate":    {"deflate", packed(t, "deflate", page), ""},
		"Brotli":     {"br", packed(t, "br", page), ""},
		"Zstd":       {"zstd", packed(t, "zstd", page), ""},
		"Two":        {"br, gzip", packed(t, "gzip", string(packed(t, "br", page))), ""},
		"Identity":   {"identity", []byte(page), ""},
		"Unknown":    {"compress", []byte(page), `its content coding is "compress", which is none of gzip, deflate, br and zstd`},
		"NotGzip":    {"gzip", []byte(page), "the answer is not valid gzip"},
		"CutGzip":    {"gzip", gzipped[:len(gzipped)-10], "the answer is not valid gzip: it ends too early"},
		"NotZstd":    {"zstd", []byte(page), "the answer is not valid zstd"},
	}
	url := w.http(func(w http.ResponseWriter, r *http.Request) {
		one := bodies[r.URL.Path[1:]]
		w.Header().Set("Content-Encoding", one.coding)
		w.Header().Set("X-Accepted", r.Header.Get("Accept-Encoding"))
		_, _ = w.Write(one.body)
	})
	for name, c := range bodies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := w.run(vigil.TypeHTTP, object{"url": url + "/" + name, "assertions": []object{
				{"source": "body", "operator": "eq", "target": page},
				{"source": "header", "property": "Content-Encoding", "operator": "eq", "target": c.coding},
				{"source": "header", "property": "Content-Length", "operator": "eq", "target": len(c.body)},
				{"source": "header", "property": "X-Accepted", "operator": "eq", "target": "gzip"},
			}})
			if seen.Success != (c.reason == "") || !strings.Contains(seen.Error, c.reason) {
				t.Errorf("got %q, want %q", seen.Error, c.reason)
			}
		})
	}
	own := w.run(vigil.TypeHTTP, object{"url": url + "/Brotli", "headers": object{"Accept-Encoding": "br"}, "assertions": []object{
		{"source": "header", "property": "X-Accepted", "operator": "eq", "target": "br"},
		{"source": "body", "operator": "contains", "target": "operational"},
	}})
	if !own.Success {
		t.Errorf("an own Accept-Encoding: %q", own.Error)
	}
	if seen := w.run(vigil.TypeHTTP, object{"url": url + "/Unknown"}); !seen.Success {
		t.Errorf("nothing looks at the body: %q", seen.Error)
	}
	empty := w.http(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Encoding", "gzip") })
	if seen := w.run(vigil.TypeHTTP, object{"url": empty}); !seen.Success {
		t.Errorf("an empty body has no coding: %q", seen.Error)
	}
}

func TestTransferEncodingHeader(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := w.http(func(w http.ResponseWriter, _ *http.Request) {
		_ = http.NewResponseController(w).Flush()
	})
	seen := w.run(vigil.TypeHTTP, object{"url": url, "assertions": []object{
		{"source": "header", "property": "Transfer-Encoding", "operator": "eq", "target": "chunked"},
	}})
	if !seen.Success {
		t.Error(seen.Error)
	}
}

func TestCharsets(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const wrong = "\xce\xf8\xe8\xe1\xea\xe0" // Ошибка in windows-1251
	const mark = "\xef\xbb\xbf"
	utf16 := "\xff\xfe" + "\x1e\x04\x48\x04\x38\x04\x31\x04\x3a\x04\x30\x04"
	pages := map[string]struct{ kind, body, reason string }{
		"Header":     {"text/html; charset=windows-1251", wrong, ""},
		"Quoted":     {`text/plain; charset="WINDOWS-1251"`, wrong, ""},
		"Malformed":  {"text/html;charset=windows-1251;;", wrong, ""},
		"Meta":       {"text/html", `<html><meta charset="windows-1251"><p>` + wrong, ""},
		"MetaHTTP":   {"text/html", `<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">` + wrong, ""},
		"XML":        {"application/xml", `<?xml version="1.0" encoding="windows-1251"?><a>` + wrong + "</a>", ""},
		"UTF8":       {"text/html", "<p>Ошибка", ""},
		"Mark":       {"text/html; charset=windows-1251", mark + "Ошибка", ""},
		"UTF16":      {"text/plain", utf16, ""},
		"JSON":       {"application/json; charset=windows-1251", `"Ошибка"`, ""},
		"Unknown":    {"text/plain; charset=x-klingon", wrong, `the body cannot be read: its charset is "x-klingon", which is not known`},
		"UnknownUTF": {"text/plain; charset=x-klingon", "Ошибка", ""},
		"OtherBytes": {"text/plain", wrong, `the body was expected to contain "Ошибка"`},
	}
	url := w.http(func(w http.ResponseWriter, r *http.Request) {
		one := pages[r.URL.Path[1:]]
		w.Header().Set("Content-Type", one.kind)
		_, _ = io.WriteString(w, one.body)
	})
	for name, c := range pages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := w.run(vigil.TypeHTTP, asserting(url+"/"+name, "body", "contains", "Ошибка", nil))
			if seen.Success != (c.reason == "") || !strings.Contains(seen.Error, c.reason) {
				t.Errorf("got %q, want %q", seen.Error, c.reason)
			}
			without := w.run(vigil.TypeHTTP, asserting(url+"/"+name, "body", "not_contains", "Ошибка", nil))
			if c.reason == "" && without.Success {
				t.Error("the page shows what it must not contain")
			}
		})
	}
}

// goesOn answers with a head and a text, and then leaves the connection open.
func goesOn(head, text string) func(net.Conn) {
	return banner("HTTP/1.1 " + head + "\r\n\r\n" + text)
}

func TestAnswersThatDoNotEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const events = "200 OK\r\nContent-Type: text/event-stream"
	chunk := func(text string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(text), text) }
	for name, c := range map[string]struct {
		serve    func(net.Conn)
		config   object
		reason   string
		streamed bool
	}{
		"Events":           {goesOn(events, "data: one\n\n"), object{}, "", true},
		"EventsWithStatus": {goesOn("503 Busy\r\nContent-Type: text/event-stream", ""), object{}, "status 503, expected 200", true},
		"Radio":            {goesOn("200 OK\r\nContent-Type: audio/mpeg", "\xff\xfb"), object{}, "", true},
		"Camera":           {goesOn("200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=x", "--x"), object{}, "", true},
		"Upgrade": {
			goesOn("101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket", ""),
			object{"expected_status_code": 101},
			"", true,
		},
		"HeaderOfEvents": {goesOn(events+"\r\nX-A: b", ""), object{"assertions": []object{
			{"source": "header", "property": "X-A", "operator": "eq", "target": "b"},
		}}, "", true},
		"TextOfEvents": {goesOn(events, "data: one\n\n"), object{"assertions": []object{
			{"source": "body", "operator": "contains", "target": "one"},
		}}, "", true},
		"TextOfStream": {goesOn("200 OK\r\nTransfer-Encoding: chunked", chunk("hello")+chunk("ready")), object{
			"stream": true, "assertions": []object{{"source": "body", "operator": "matches", "target": "hel+oready?"}},
		}, "", true},
		"OtherTextOfStream": {goesOn("200 OK", "hello"), object{
			"stream": true, "assertions": []object{{"source": "body", "operator": "contains", "target": "ready"}},
		}, `the body was expected to contain "ready", and what was read does not decide it: 5 bytes of it came within 1s`, true},
		"StreamThatEnds": {banner("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), object{
			"stream": true, "assertions": []object{{"source": "body", "operator": "contains", "target": "ready"}},
		}, `the body was expected to contain "ready"`, true},
		"NotAStream": {goesOn("200 OK", "hello"), object{
			"assertions": []object{{"source": "body", "operator": "contains", "target": "hello"}},
		}, `timed out after 1s while reading the body, which was expected to contain "hello" (stream: true is for`, false},
		"Stalled": {goesOn("200 OK", "hello"), object{}, "timed out after 1s while reading the body", false},
		"Flowing": {drip("HTTP/1.1 200 OK\r\n\r\nhello"), object{}, "", true},
		"SlowWithALength": {
			drip("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nhello"), object{}, "timed out after 1s while reading the body", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.config["url"], c.config["timeout_seconds"] = "http://"+tcp(t, c.serve), 1
			if c.reason == "" && name != "Flowing" {
				c.config["timeout_seconds"] = 60 // it does not wait for the time to be up
			}
			seen := w.run(vigil.TypeHTTP, c.config)
			if seen.Success != (c.reason == "") || !strings.Contains(seen.Error, c.reason) {
				t.Errorf("got %q, want %q", seen.Error, c.reason)
			}
			if (seen.Metadata["stream"] == true) != c.streamed {
				t.Errorf("metadata %v", seen.Metadata)
			}
		})
	}
	for operator, source := range map[string]string{"not_contains": "body", "eq": "json"} {
		assertion := object{"source": source, "operator": operator, "target": "x"}
		if source == "json" {
			assertion["property"] = "$.a"
		}
		config := object{"url": "http://example.com", "stream": true, "assertions": []object{assertion}}
		_, err := w.Parse(vigil.TypeHTTP, encode(t, config), minute)
		rejected(t, err, "config.assertions[0]")
	}
}
