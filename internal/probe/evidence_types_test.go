// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

func TestEvidenceOfOtherTypes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	t.Run("Mail", func(t *testing.T) {
		t.Parallel()
		server := tcp(t, banner("554 no service for you\r\n"))
		e := w.recorder(t, vigil.TypeSMTPIMAP, object{"smtp": serverAt(t, server, object{"security": "none"})})
		if len(e.Dialog) != 1 || e.Dialog[0] != "SMTP: 554 no service for you" || e.Address != server {
			t.Errorf("%+v", e)
		}
	})
	t.Run("MailLogin", func(t *testing.T) {
		t.Parallel()
		house := probetest.NewPostOffice(t, w.authority, "starttls", "tls")
		e := w.recorder(t, vigil.TypeSMTPIMAP, house.Config(object{"imap": house.IMAPServer("wrong-secret")}))
		if text, err := json.Marshal(e); err != nil || strings.Contains(string(text), "wrong-secret") || len(e.Dialog) == 0 {
			t.Errorf("%s, %v", text, err)
		}
		if len(e.Certificates) == 0 || !strings.HasPrefix(e.Dialog[len(e.Dialog)-1], "IMAP: ") {
			t.Errorf("%+v", e)
		}
	})
	t.Run("Throughput", func(t *testing.T) {
		t.Parallel()
		url := w.http(func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, "no such file", http.StatusNotFound) })
		e := w.recorder(t, vigil.TypeThroughput, object{"url": url})
		if e.StatusLine != "HTTP/1.1 404 Not Found" || e.Body.Text != "no such file\n" {
			t.Errorf("%+v, body %+v", e, e.Body)
		}
	})
	t.Run("HTTP3", func(t *testing.T) {
		t.Parallel()
		url := probetest.OverQUIC(t, w.authority.Issue(t), func(rw http.ResponseWriter, _ *http.Request) {
			http.Error(rw, "busy", http.StatusServiceUnavailable)
		})
		e := w.recorder(t, vigil.TypeHTTP3, object{"url": url})
		if e.StatusLine != "HTTP/3.0 503 Service Unavailable" || e.Body.Text != "busy\n" || len(e.Certificates) == 0 || e.Address == "" {
			t.Errorf("%+v, body %+v", e, e.Body)
		}
	})
}

// TestEvidenceOfSteps holds that evidence is that of the step that failed, and hides what steps
// extract, also short values, and also in the step that extracts it.
func TestEvidenceOfSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	site := w.http(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/use" {
			rw.WriteHeader(http.StatusConflict)
		}
		_, _ = io.WriteString(rw, `{"token": "k9x7q", "said": "`+r.URL.RawQuery+`"}`)
	})
	extract := []object{{"name": "token", "source": "json", "property": "$.token"}}
	login := object{"name": "log in", "type": "http", "config": object{"url": site + "/login"}, "extract": extract}
	t.Run("ThatUseAValue", func(t *testing.T) {
		t.Parallel()
		e := w.recorder(t, vigil.TypeMultistep, object{"steps": []object{
			login, {"name": "use", "type": "http", "config": object{"url": site + "/use?a={{token}}"}},
		}})
		if e.Step != "use" || e.StatusLine != "HTTP/1.1 409 Conflict" || e.Body.Text != `{"token": "***", "said": "a=***"}` {
			t.Errorf("%+v, body %+v", e, e.Body)
		}
	})
	t.Run("ThatExtractAndFail", func(t *testing.T) {
		t.Parallel()
		e := w.recorder(t, vigil.TypeMultistep, object{"steps": []object{{
			"name": "log in", "type": "http", "extract": extract,
			"config": object{"url": site + "/login", "expected_status_code": 204},
		}}})
		if e.Step != "log in" || e.Body.Text != `{"token": "***", "said": ""}` {
			t.Errorf("%+v, body %+v", e, e.Body)
		}
	})
	t.Run("ThatFindNothingToExtract", func(t *testing.T) {
		t.Parallel()
		e := w.recorder(t, vigil.TypeMultistep, object{"steps": []object{{
			"name": "log in", "type": "http", "config": object{"url": site + "/login"},
			"extract": append([]object{{"name": "other", "source": "json", "property": "$.none"}}, extract...),
		}}})
		if e.Step != "log in" || e.StatusLine != "HTTP/1.1 200 OK" || e.Body.Text != `{"token": "***", "said": ""}` {
			t.Errorf("%+v, body %+v", e, e.Body)
		}
	})
}
