// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/project"
)

// upptimeSite is a site on its way to a check.
type upptimeSite struct {
	*members

	u          *upptimeImport
	check      *Resource
	kind       vigil.CheckType
	config     Object
	assertions []any
	missing    string // why the site cannot be a check; empty: it can
	globalping bool
}

// site adds the check of a site.
func (u *upptimeImport) site(v *value, index int) {
	check := &Resource{Kind: project.KindCheck, result: u.Result}
	s := &upptimeSite{members: newMembers(v, "", check.Lose), u: u, check: check}
	name := oneLine(s.marked("name"))
	origin := name
	if origin == "" {
		origin = "site " + strconv.Itoa(index+1)
	}
	s.read()
	if s.missing != "" {
		u.Miss(project.KindCheck, origin, "%s", s.missing)
		return
	}
	key := origin
	if slug, ok := s.scalar("slug"); ok {
		key = slug
	}
	added := u.Add(project.KindCheck, origin, key)
	s.lose, s.check = added.Lose, added
	added.Losses = check.Losses
	if enabled := check.Members.Get("enabled"); enabled != nil {
		added.Set("enabled", enabled)
	}
	added.Set("name", Literal(Name(name, origin)))
	added.Set("type", string(s.kind))
	interval := added.SetInterval(u.interval)
	s.timeouts(interval)
	for _, tag := range s.list("tags") {
		added.SetLabel(tag.text, "")
	}
	if len(s.assertions) > 0 {
		s.config.Set("assertions", s.assertions)
	}
	added.Set("config", s.config)
	if len(s.list("assignees")) > 0 {
		s.lose("assignees", "incidents are not assigned; invite people with `vigil member invite`")
	}
	s.take("icon") // changes what the page shows, and nothing that is checked
	s.take("verbose")
	s.finish()
}

// text is a member in which Upptime replaces secrets, with marks.
func (s *upptimeSite) text(name string) string {
	text := upptimeMarked(s.marked(name))
	if strings.Contains(text, "$DYNAMIC_") {
		s.lose(name, "its random part, such as $DYNAMIC_RANDOM_NUMBER, is sent as it is written")
	}
	return text
}

// read reads what is checked, by the member check.
func (s *upptimeSite) read() {
	given, _ := s.scalar("type")
	s.globalping = given == "globalping"
	if place, _ := s.scalar("location"); s.globalping {
		s.check.loseLocation(strings.TrimSuffix("type: globalping, location: "+place, ", location: "), place)
	}
	target := strings.TrimSpace(s.text("url"))
	kind, _ := s.scalar("check")
	switch {
	case target == "":
		s.missing = "it has no url"
	case kind == "" || kind == "http":
		s.readHTTP(target)
	case kind == "tcp-ping" && s.globalping:
		s.readPing(target)
	case kind == "tcp-ping":
		s.readTCP(target)
	case kind == "ws":
		s.readWebSocket(target)
	case kind == "ssl":
		s.readSSL(target)
	default:
		s.missing = "check " + oneLine(kind) + " is none of http, tcp-ping, ws and ssl"
	}
	if s.kind != vigil.TypeHTTP && s.kind != vigil.TypeHTTPS {
		s.otherMembers()
	}
}

// otherMembers reads the members that Upptime uses for http only: elsewhere they change nothing.
func (s *upptimeSite) otherMembers() {
	for _, name := range upptimeHTTPMembers() {
		s.take(name)
	}
	if bound, ok := s.integer("maxResponseTime"); ok && s.kind != vigil.TypeWebSocket && s.kind != vigil.TypeSSL {
		s.lose("maxResponseTime: "+strconv.Itoa(bound), "add a rule with response_time_ms, which needs a channel")
	}
}

func upptimeHTTPMembers() []string {
	return []string{
		"method", "expectedStatusCodes", "headers", "body", "maxRedirects", "connectTimeout", "requestTimeout", "ipv6", "port",
		"__dangerous__insecure", "__dangerous__disable_verify_peer", "__dangerous__disable_verify_host", "__dangerous__body_down",
		"__dangerous__body_down_if_text_missing", "__dangerous__body_degraded", "__dangerous__body_degraded_if_text_missing",
	}
}

// timeouts carries over how long Upptime waits, and how often it tries again.
func (s *upptimeSite) timeouts(interval time.Duration) {
	if s.kind == vigil.TypeHTTP || s.kind == vigil.TypeHTTPS {
		given := upptimeTimeout
		if seconds, ok := s.integer("requestTimeout"); ok && seconds > 0 {
			given = time.Duration(seconds) * time.Second
		}
		s.config.Set("timeout_seconds", s.check.Timeout(given, interval))
		const standard = 30
		if seconds, ok := s.integer("connectTimeout"); ok && seconds > 0 && seconds != standard {
			s.lose("connectTimeout: "+strconv.Itoa(seconds), "the timeout is that of the whole request")
		}
	}
	const standard = 3
	if tries, ok := s.integer("maxRetries"); ok && tries != standard {
		s.lose("maxRetries: "+strconv.Itoa(tries), "each failure counts; a rule fires after so many as its failure_threshold says")
	}
}

// host reads a host name or an address, which a secret may hold.
func (s *upptimeSite) host(text string) (string, bool) {
	text = strings.TrimSuffix(text, "/")
	if marked(text) {
		return s.u.fileText(text), true
	}
	host, reason := kumaHost(text)
	s.missing = reason
	return host, reason == ""
}

// port reads the member port; a secret cannot hold it, since the file needs the number.
func (s *upptimeSite) port(standard int) (int, bool) {
	text := strings.TrimSpace(s.text("port"))
	if text == "" {
		return standard, true
	}
	port, err := strconv.Atoi(text)
	if err != nil || !validPort(int64(port)) {
		s.missing = "port " + oneLine(shown(text)) + " is no number from 1 to 65535"
		return 0, false
	}
	return port, true
}

func (s *upptimeSite) readTCP(target string) {
	s.kind = vigil.TypeTCP
	host, ok := s.host(target)
	if !ok {
		return
	}
	port, ok := s.port(upptimePort)
	if !ok {
		return
	}
	s.config.Set("host", host)
	s.config.Set("port", port)
	if s.on("ipv6") {
		s.lose("ipv6: true", "a tcp check connects by IPv4 or IPv6")
	}
}

// readPing reads tcp-ping of Globalping, which sends echo requests.
func (s *upptimeSite) readPing(target string) {
	s.kind = vigil.TypePing
	if address, err := url.Parse(target); err == nil && address.Host != "" {
		target = address.Hostname()
	}
	host, ok := s.host(target)
	if !ok {
		return
	}
	s.config.Set("host", host)
	if net.ParseIP(host) == nil {
		version := "4"
		if s.on("ipv6") {
			version = "6"
		}
		s.config.Set("ip_version", version)
	}
}

func (s *upptimeSite) readSSL(target string) {
	s.kind = vigil.TypeSSL
	if address, err := url.Parse(target); err == nil && s.globalping && address.Host != "" {
		target = address.Hostname()
	}
	const https = 443
	host, ok := s.host(target)
	if !ok {
		return
	}
	port, ok := s.port(https)
	if !ok {
		return
	}
	s.config.Set("host", host)
	s.config.Set("port", port)
	s.config.Set("alert_days_before", upptimeDays)
	s.config.Set("verify_tls", false) // Upptime only looks at the date
}

func (s *upptimeSite) readWebSocket(target string) {
	s.kind = vigil.TypeWebSocket
	if s.globalping {
		s.missing = "check ws with type globalping, which Upptime does not have either"
		return
	}
	if address, err := url.Parse(target); !marked(target) && (err != nil || address.Host == "" || address.User != nil ||
		!slices.Contains([]string{"ws", "wss"}, address.Scheme)) {
		s.missing = "url " + withoutUser(oneLine(target)) + " is no address that begins with ws:// or wss:// and has no user"
		return
	}
	s.config.Set("url", s.u.fileText(target))
	if body := s.text("body"); body != "" {
		s.config.Set("send", s.u.fileText(body))
	}
}
