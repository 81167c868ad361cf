// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vigil-monitor/vigil"
)

// readHTTP reads a site that Upptime requests with curl.
func (s *upptimeSite) readHTTP(target string) {
	scheme, _, found := strings.Cut(target, "://")
	switch {
	case !found && s.globalping:
		scheme, target = "https", "https://"+target
	case !found && !strings.HasPrefix(target, markOpen): // as curl does
		scheme, target = "http", "http://"+target
	case !found:
		scheme = "https"
		s.lose("url: "+shown(target), "the scheme comes from a secret; the check takes https")
	}
	s.kind = vigil.CheckType(strings.ToLower(scheme))
	if s.kind != vigil.TypeHTTP && s.kind != vigil.TypeHTTPS {
		s.missing = "url " + shown(withoutUser(oneLine(target))) + " does not begin with http:// or https://"
		return
	}
	target, user := cutUser(target)
	if !marked(target) {
		address, _, reason := kumaURL(target)
		if reason != "" {
			s.missing = reason
			return
		}
		target = address.String()
	}
	s.config.Set("url", s.u.fileText(target))
	method, _ := s.scalar("method")
	method = strings.ToUpper(method)
	if !slices.Contains([]string{"", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}, method) {
		s.missing = "method " + oneLine(method)
		return
	}
	if method != "" && method != "GET" {
		s.config.Set("method", method)
	}
	s.statuses()
	s.headersAndBody(user)
	s.redirects()
	s.verification()
	s.bounds()
	if s.globalping && s.on("ipv6") {
		s.config.Set("ip_version", "6")
	}
	if s.take("port") != nil && s.globalping {
		s.lose("port", "write it into the url of the check")
	}
	s.take("ipv6")
}

// cutUser returns an address with marks without its user, and the user as basic_auth.
func cutUser(address string) (string, Object) {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return address, nil
	}
	at := strings.LastIndex(rest[:indexOr(rest, "/?#")], "@")
	if at < 0 {
		return address, nil
	}
	user, password, _ := strings.Cut(rest[:at], ":")
	auth := Object{{"username", unescaped(user)}}
	if password != "" {
		auth.Set("password", unescaped(password))
	}
	return scheme + "://" + rest[at+1:], auth
}

// authOf returns the user of an address, with marks, in the form of the files.
func (r *Result) authOf(user Object) Object {
	auth := make(Object, len(user))
	for i, one := range user {
		text, _ := one.Value.(string)
		auth[i] = Member{one.Name, r.fileText(text)}
	}
	return auth
}

// upptimeStatuses are those that mean success when a site names none.
func upptimeStatuses() acceptedStatuses {
	return acceptedStatuses{ranges: []statusSpan{{200, 208}, {226, 226}, {300, 308}}}
}

func (s *upptimeSite) statuses() {
	accepted := upptimeStatuses()
	if given := s.list("expectedStatusCodes"); len(given) > 0 {
		accepted = acceptedStatuses{}
		for _, one := range given {
			code, err := strconv.Atoi(strings.TrimSpace(one.text))
			if err != nil || code < 100 || code > 599 {
				s.lose("expectedStatusCodes: "+oneLine(one.text), "it is no status from 100 to 599")
				continue
			}
			accepted.ranges = append(accepted.ranges, statusSpan{code, code})
		}
	}
	codes, exact := accepted.codes()
	switch {
	case len(codes) == 0:
		s.missing = "none of its expectedStatusCodes is a status from 100 to 599"
	case exact:
		s.config.Set("expected_status_codes", codes)
	default:
		s.lose("expectedStatusCodes", "too many statuses; the whole classes are expected, such as 2xx")
		s.config.Set("expected_status_codes", accepted.classes())
	}
}

// headersAndBody reads headers such as "Accept: text/html". As curl does, a body has the Content-Type
// of a form when no header has another.
func (s *upptimeSite) headersAndBody(user Object) {
	var headers Object
	for _, one := range s.list("headers") {
		name, value, ok := strings.Cut(upptimeMarked(one.text), ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		switch {
		case !ok || !isHeaderName(name) || value == "":
			s.lose("headers", "one of them has no form such as Accept: text/html")
		case hasHeader(headers, name):
			s.lose("header "+name, "it is given twice")
		default:
			headers.Set(name, s.u.fileText(value))
		}
	}
	if body := s.text("body"); body != "" {
		s.config.Set("body", s.u.fileText(body))
		if !hasHeader(headers, "Content-Type") {
			headers.Set("Content-Type", "application/x-www-form-urlencoded")
		}
	}
	if len(headers) > 0 {
		s.config.Set("headers", headers)
	}
	if user == nil || hasHeader(headers, "Authorization") {
		return // the header wins, as in curl
	}
	s.config.Set("basic_auth", s.u.authOf(user))
}

func (s *upptimeSite) redirects() {
	switch n, ok := s.integer("maxRedirects"); {
	case ok && n == 0:
		s.config.Set("follow_redirects", false)
	case ok && n != upptimeRedirects:
		s.lose(fmt.Sprintf("maxRedirects: %d", n), "Vigil follows up to 10 redirects, or none")
	}
}

func (s *upptimeSite) verification() {
	peer, host := s.on("__dangerous__disable_verify_peer"), s.on("__dangerous__disable_verify_host")
	if all := s.on("__dangerous__insecure"); !all && !peer && !host {
		return
	} else if !all && peer != host {
		s.lose("__dangerous__disable_verify_peer, __dangerous__disable_verify_host",
			"the check verifies neither the authority nor the name of the certificate")
	}
	s.config.Set("verify_tls", false)
}

// bounds makes assertions of what makes a site down or degraded.
func (s *upptimeSite) bounds() {
	const degraded = "what is degraded in Upptime fails the check"
	for _, one := range []struct {
		name, operator string
		degraded       bool
	}{
		{"__dangerous__body_down", "not_contains", false},
		{"__dangerous__body_down_if_text_missing", "contains", false},
		{"__dangerous__body_degraded", "not_contains", true},
		{"__dangerous__body_degraded_if_text_missing", "contains", true},
	} {
		text := s.text(one.name)
		if text == "" {
			continue
		}
		s.assertions = append(s.assertions, Object{{"source", "body"}, {"operator", one.operator}, {"target", s.u.fileText(text)}})
		if one.degraded {
			s.lose(one.name, degraded)
		}
	}
	if bound, ok := s.integer("maxResponseTime"); ok && bound > 0 {
		s.assertions = append(s.assertions, Object{{"source", "response_time"}, {"operator", "lt"}, {"target", bound + 1}})
		s.lose("maxResponseTime: "+strconv.Itoa(bound), degraded)
	}
}
