// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/vigil-monitor/vigil/internal/egress"
)

const (
	maxRDAPServers  = 3       // of a registry, tried one after the other
	maxRDAPAnswer   = 1 << 20 // bytes
	maxRDAPStatuses = 20
	// rdapMemory is how long an answer is used while the registry cannot be asked.
	rdapMemory = 24 * time.Hour
	// maxRDAPKept bounds the answers that are kept.
	maxRDAPKept = 10_000
)

// registration is what a registry says of a domain.
type registration struct {
	server   string    // host, with a port where it has one
	at       time.Time // of the answer
	expires  time.Time // zero: it does not say
	statuses []string
}

// rdapSilence is an answer of a server that says nothing of the domain: it is broken, or asks to
// be left alone.
type rdapSilence struct{ error }

func (s rdapSilence) Unwrap() error { return s.error }

// askRDAP asks a server for a domain (RFC 9082, section 3.1.3).
func askRDAP(ctx context.Context, t *timeline, guard *egress.Guard, base, domain string) (*registration, error) {
	address := strings.TrimSuffix(base, "/") + "/domain/" + url.PathEscape(domain)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	request.Header.Set("User-Agent", userAgent)
	request.Header.Set("Accept", "application/rdap+json, application/json;q=0.9")
	client := guard.Client(ctx, egress.ClientOptions{UserAgent: userAgent})
	t.recorder.follow(client)
	response, err := client.Do(request)
	if err != nil {
		if response != nil { // a redirect that was not followed
			_ = response.Body.Close()
			t.recorder.status(response)
		}
		return nil, rdapSilence{fmt.Errorf("request: %w", err)}
	}
	defer func() { _ = response.Body.Close() }()
	t.step("reading the answer of the RDAP server")
	body, err := io.ReadAll(io.LimitReader(response.Body, maxRDAPAnswer+1))
	if err != nil {
		return nil, rdapSilence{fmt.Errorf("read the answer: %w", err)}
	}
	t.recorder.answered(response, body[:min(len(body), readEvidenceBody)], int64(len(body)), len(body) <= readEvidenceBody)
	return readRDAP(response, body, domain)
}

// readRDAP reads an answer (RFC 7480, section 5; RFC 9083, section 5.3).
func readRDAP(response *http.Response, body []byte, domain string) (*registration, error) {
	server := response.Request.URL.Host
	switch status := response.StatusCode; {
	case status == http.StatusNotFound:
		return nil, fail("%s is not registered, by the RDAP server %s", domain, server)
	case status == http.StatusTooManyRequests:
		return nil, rdapSilence{fail("the RDAP server %s answers no more requests for now (429)", server)}
	case status != http.StatusOK:
		return nil, rdapSilence{fail("the RDAP server %s answered with the status %d, expected 200", server, status)}
	case len(body) > maxRDAPAnswer:
		return nil, rdapSilence{fail("the answer of the RDAP server %s has more than %d MiB", server, maxRDAPAnswer>>20)}
	}
	var answer struct {
		Class    string   `json:"objectClassName"`
		Name     string   `json:"ldhName"`
		Statuses []string `json:"status"`
		Events   []struct {
			Action string `json:"eventAction"`
			Date   string `json:"eventDate"`
		} `json:"events"`
	}
	if err := json.Unmarshal(trimBOM(body), &answer); err != nil {
		kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
		if err != nil {
			kind = "an unknown type"
		}
		return nil, rdapSilence{fail("the RDAP server %s did not answer with the JSON of RDAP, but with content of %s", server, kind)}
	}
	if !strings.EqualFold(answer.Class, "domain") {
		return nil, rdapSilence{
			fail("the RDAP server %s answered with an object of the class %q, expected domain", server, clip(answer.Class, maxShown)),
		}
	}
	if name := strings.TrimSuffix(answer.Name, "."); name != "" && !strings.EqualFold(name, domain) {
		return nil, rdapSilence{fail("the RDAP server %s answered about %s, not about %s", server, name, domain)}
	}
	found := &registration{server: clip(server, maxNameText), at: time.Now()}
	for _, status := range answer.Statuses[:min(len(answer.Statuses), maxRDAPStatuses)] {
		found.statuses = append(found.statuses, clip(strings.ToLower(status), maxNameText))
	}
	for _, event := range answer.Events {
		if !strings.EqualFold(event.Action, "expiration") {
			continue
		}
		date, err := parseRDAPDate(event.Date)
		if err != nil {
			return nil, rdapSilence{
				fail("the RDAP server %s says that the registration expires on %q, which is no date of RFC 3339", server, event.Date),
			}
		}
		if found.expires.IsZero() || date.Before(found.expires) {
			found.expires = date
		}
	}
	return found, nil
}

func trimBOM(text []byte) []byte {
	if len(text) >= 3 && string(text[:3]) == "\ufeff" {
		return text[3:]
	}
	return text
}

// parseRDAPDate reads a date of RFC 3339, and what registries write instead: without a zone,
// which stands for UTC, or a day alone.
func parseRDAPDate(text string) (time.Time, error) {
	for _, layout := range []string{
		time.RFC3339, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05", time.DateOnly,
	} {
		if date, err := time.Parse(layout, text); err == nil {
			return date, nil
		}
	}
	return time.Time{}, errors.New("not a date")
}

// rdapAnswers keeps what registries said last. It is in the memory of the process only.
type rdapAnswers struct {
	mu    sync.Mutex
	known map[[2]string]*registration // by base URL and domain
}

func newRDAPAnswers() *rdapAnswers { return &rdapAnswers{known: make(map[[2]string]*registration)} }

// keep notes an answer; nil forgets the one before.
func (a *rdapAnswers) keep(base, domain string, found *registration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if found == nil {
		delete(a.known, [2]string{base, domain})
		return
	}
	if len(a.known) >= maxRDAPKept {
		clear(a.known)
	}
	a.known[[2]string{base, domain}] = found
}

// recent returns an answer that is not too old, or nil.
func (a *rdapAnswers) recent(base, domain string, now time.Time) *registration {
	a.mu.Lock()
	defer a.mu.Unlock()
	found := a.known[[2]string{base, domain}]
	if found == nil || now.Sub(found.at) > rdapMemory {
		return nil
	}
	return found
}
