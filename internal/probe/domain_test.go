// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/probe"
)

var _ = addFixture(fixtureDomain)

// fixtureDomain is the fixture of the domain type.
func fixtureDomain(f *world) fixture {
	ask := func(server string) object {
		return object{"domain": "www.shop.example", "rdap_server": server, "alert_days_before": 14}
	}
	return fixture{
		kind:    vigil.TypeDomain,
		healthy: ask(f.http(registry(map[string]string{"shop.example": expiresIn(100)}))),
		failing: ask(f.http(registry(map[string]string{"shop.example": expiresIn(10)})) + "/path-secret"),
		silent:  ask("http://" + tcp(f, drain)),
		secrets: []string{"path-secret"},
	}
}

// expiresIn is an answer about shop.example that expires in so many days and an hour.
func expiresIn(days int) string { return expiresAt(dayIn(days).Format(time.RFC3339)) }

func dayIn(days int) time.Time {
	return time.Now().Add(time.Duration(days)*24*time.Hour + time.Hour).UTC()
}

func expiresAt(date string, statuses ...string) string {
	text, _ := json.Marshal(statuses)
	return fmt.Sprintf(`{"objectClassName":"domain","ldhName":"SHOP.EXAMPLE","status":%s,"rdapConformance":["rdap_level_0"],
		"events":[{"eventAction":"registration","eventDate":"1995-08-14T04:00:00Z"},{"eventAction":"expiration","eventDate":%q}]}`, text, date)
}

// registry is an RDAP server that knows some domains.
func registry(answers map[string]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		answer, known := answers[r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]]
		if !known || !strings.Contains(r.URL.Path, "/domain/") {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/rdap+json")
		_, _ = io.WriteString(w, answer)
	}
}

func TestDomain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ask := func(answer string, more object) object {
		config := object{"domain": "shop.example", "rdap_server": w.http(registry(map[string]string{"shop.example": answer})) + "/rdap/"}
		for name, value := range more {
			config[name] = value
		}
		return config
	}
	status := func(code int) object {
		return object{"domain": "shop.example", "rdap_server": w.http(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })}
	}
	closed := closedPort(t)
	soon, past := dayIn(10).Format(time.RFC3339), dayIn(-2).Format(time.RFC3339)
	for name, c := range map[string]struct {
		config object
		days   any // of the metadata
		reason string
	}{
		"Registered":      {ask(expiresIn(100), nil), 100.0, ""},
		"InTime":          {ask(expiresIn(15), object{"alert_days_before": 14}), 15.0, ""},
		"Today":           {ask(expiresIn(0), nil), 0.0, ""},
		"PartOfAName":     {ask(expiresIn(100), object{"domain": "a.b.Shop.example."}), 100.0, ""},
		"WithoutFraction": {ask(expiresAt(dayIn(30).Format("2006-01-02T15:04:05")), nil), 30.0, ""},
		"WithFraction":    {ask(expiresAt(dayIn(30).Format("2006-01-02T15:04:05.000Z")), nil), 30.0, ""},
		"OddZone":         {ask(expiresAt(dayIn(30).Format("2006-01-02T15:04:05+0000")), nil), 30.0, ""},
		"WithBOM":         {ask("\ufeff"+expiresIn(100), nil), 100.0, ""},
		"NoDate":          {ask(`{"objectClassName":"domain"}`, nil), nil, ""},
		"Locked":          {ask(expiresAt(dayIn(90).Format(time.RFC3339), "client transfer prohibited", "active"), nil), 90.0, ""},

		"Soon": {
			ask(expiresAt(soon), object{"alert_days_before": 10}), 10.0, "the registration of shop.example expires in 10 days, on " + soon,
		},
		"Past":         {ask(expiresAt(past), nil), -2.0, "the registration of shop.example expired on " + past},
		"NoDateJudged": {ask(`{"objectClassName":"domain"}`, object{"alert_days_before": 1}), nil, "does not say when shop.example expires"},
		"Redemption":   {ask(expiresAt(dayIn(90).Format(time.RFC3339), "Redemption Period"), nil), 90.0, `has the status "redemption period"`},
		"OnHold":       {ask(expiresAt(dayIn(90).Format(time.RFC3339), "client hold"), nil), 90.0, `has the status "client hold"`},
		"OddDate":      {ask(expiresAt("next year"), nil), nil, `expires on "next year", which is no date of RFC 3339`},
		"OtherDomain": {
			ask(strings.ReplaceAll(expiresIn(100), "SHOP", "other"), nil), nil, "answered about other.EXAMPLE, not about shop.example",
		},
		"NoDomain": {ask(`{"objectClassName":"entity"}`, nil), nil, `answered with an object of the class "entity", expected domain`},
		"Page":     {ask("<html>", nil), nil, "did not answer with the JSON of RDAP, but with content of application/rdap+json"},
		"TooLong":  {ask(strings.Repeat(" ", 1<<20)+expiresIn(100), nil), nil, "more than 1 MiB"},
		"NotRegistered": {
			ask(expiresIn(100), object{"domain": "free.example"}), nil, "free.example is not registered, by the RDAP server 127.0.0.1:",
		},
		"Limited": {status(http.StatusTooManyRequests), nil, "answers no more requests for now (429)"},
		"Broken":  {status(http.StatusBadGateway), nil, "answered with the status 502"},
		"Refused": {object{"domain": "shop.example", "rdap_server": "http://" + closed}, nil, "connection refused by " + closed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := w.run(vigil.TypeDomain, c.config)
			if seen.Success != (c.reason == "") || !strings.Contains(seen.Error, c.reason) {
				t.Errorf("got %q, want %q", seen.Error, c.reason)
			}
			if seen.Metadata["domain_days_remaining"] != c.days {
				t.Errorf("metadata %v", seen.Metadata)
			}
		})
	}
}

// TestDomainServers holds that a domain is asked of the server that the list names for the longest
// name that fits, that the list is fetched once, and that the copy serves until then.
func TestDomainServers(t *testing.T) {
	t.Parallel()
	authority := newWorld(t)
	serve := func(answer string) string {
		return authority.http(registry(map[string]string{"shop.example": answer})) + "/v1"
	}
	services := func(pairs ...string) string {
		var list []any
		for i := 0; i+1 < len(pairs); i += 2 {
			list = append(list, []any{[]string{pairs[i]}, strings.Fields(pairs[i+1])})
		}
		return string(encode(t, object{"version": "1.0", "services": list}))
	}
	refused := "http://" + closedPort(t)
	long, short := serve(expiresIn(100)), serve(expiresIn(50))
	var fetched atomic.Int32
	list := func(text string, status int) string {
		return authority.http(func(w http.ResponseWriter, _ *http.Request) {
			fetched.Add(1)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		})
	}
	for name, c := range map[string]struct {
		list, copied string
		status       int
		days         any
	}{
		"LongestName":      {services("example", short, "shop.example", long), services("example", refused), 200, 100.0},
		"TopLevel":         {services("other", long, "EXAMPLE", short), services("example", refused), 200, 50.0},
		"NextServer":       {services("example", refused+" "+short), services("example", refused), 200, 50.0},
		"CopyWhenItFails":  {"", services("example", short), 500, 50.0},
		"CopyWhenItIsNone": {"<html>", services("example", short), 200, 50.0},
		"CopyWhenEmpty":    {`{"services":[]}`, services("example", short), 200, 50.0},
	} {
		fetched.Store(0)
		guard := egress.New(egress.Policy{AllowPrivate: true})
		from := probe.WithBootstrap(list(c.list, c.status), []byte(c.copied))
		w := &world{TB: t, Registry: probe.NewRegistry(guard, from)}
		for range 2 {
			seen := w.run(vigil.TypeDomain, object{"domain": "shop.example"})
			if !seen.Success || seen.Metadata["domain_days_remaining"] != c.days {
				t.Errorf("%s: %q, %v", name, seen.Error, seen.Metadata)
			}
		}
		if n := fetched.Load(); n != 1 {
			t.Errorf("%s: the list was fetched %d times", name, n)
		}
	}
}

// TestDomainIsJudgedByTheLastAnswer holds that a registry that cannot be asked makes no healthy
// domain unhealthy.
func TestDomainIsJudgedByTheLastAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var status atomic.Int32
	status.Store(http.StatusOK)
	server := w.http(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(int(status.Load()))
		_, _ = io.WriteString(w, expiresIn(20))
	})
	patient, strict := object{
		"domain":      "shop.example",
		"rdap_server": server,
	}, object{
		"domain":            "shop.example",
		"rdap_server":       server,
		"alert_days_before": 30,
	}
	if seen := w.run(vigil.TypeDomain, patient); !seen.Success {
		t.Fatal(seen.Error)
	}
	status.Store(http.StatusTooManyRequests)
	if seen := w.run(vigil.TypeDomain, patient); !seen.Success || seen.Metadata["domain_days_remaining"] != 20.0 {
		t.Errorf("the registry is busy: %+v", seen)
	}
	if seen := w.run(vigil.TypeDomain, strict); !strings.Contains(seen.Error, "expires in 20 days") {
		t.Errorf("the registry is busy: %+v", seen)
	}
	status.Store(http.StatusNotFound)
	if seen := w.run(vigil.TypeDomain, patient); !strings.Contains(seen.Error, "is not registered") {
		t.Errorf("the domain is gone: %+v", seen)
	}
	status.Store(http.StatusTooManyRequests)
	if seen := w.run(vigil.TypeDomain, patient); !strings.Contains(seen.Error, "(429)") {
		t.Errorf("what was said before the domain was gone counts: %+v", seen)
	}
}

func TestDomainConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for given, target := range map[string]string{
		"example.com": "example.com", "www.example.co.uk": "example.co.uk", "Müller.com": "xn--mller-kva.com", "a.github.com": "github.com",
		"user.blogspot.com": "blogspot.com", "a.b.c.org.": "c.org", "x.y.kawasaki.jp.museum": "jp.museum",
	} {
		parsed, err := w.Parse(vigil.TypeDomain, encode(t, object{"domain": given}), minute)
		if err != nil || parsed.Target() != target {
			t.Errorf("%s: %v, %v", given, parsed, err)
		}
	}
	for member, configs := range map[string][]object{
		"config.domain": {
			{},
			{"domain": ""},
			{"domain": "com"},
			{"domain": "co.uk"},
			{"domain": "localhost"},
			{"domain": "1.2.3.4"},
			{"domain": "::1"},
			{"domain": "https://example.com"},
			{"domain": "a b.com"},
			{"domain": "ann@example.com"},
		},
		"config.rdap_server": {
			{"domain": "shop.internal"},
			{"domain": "example.com", "rdap_server": "ftp://a.example"},
			{"domain": "example.com", "rdap_server": "http://169.254.169.254/"},
			{"domain": "example.com", "rdap_server": "https://a.example/?q=1"},
		},
		"config.alert_days_before": {{"domain": "example.com", "alert_days_before": -1}},
	} {
		for _, config := range configs {
			_, err := w.Parse(vigil.TypeDomain, encode(t, config), minute)
			rejected(t, err, member)
		}
	}
	if parsed, err := w.Parse(
		vigil.TypeDomain,
		encode(t, object{"domain": "x.shop.internal", "rdap_server": "https://rdap.shop.example"}),
		minute,
	); err != nil ||
		parsed.Target() != "shop.internal" {
		t.Errorf("%v, %v", parsed, err)
	}
}
