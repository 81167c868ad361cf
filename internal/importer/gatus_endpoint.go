// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/project"
)

// What Gatus takes for a member that is absent.
const (
	gatusInterval      = time.Minute
	gatusSuiteInterval = 10 * time.Minute
)

// gatusEndpoint is an endpoint on its way to a check, or to a step of one.
type gatusEndpoint struct {
	*members

	g           *gatusImport
	origin      string
	name, group string // with marks
	url         string // with marks; [CONTEXT] is replaced
	kind        vigil.CheckType
	config      Object
	conditions  []condition
	client      *members
	suite       *gatusSuite // of a step
	// missing says why the endpoint cannot be a check; empty: it can.
	missing string
	// slow are bounds of the response time that become rules, since checks of its type have no
	// assertions.
	slow []slowBound
	// certificate is the bound of the days of a certificate that becomes a rule; nil: none.
	certificate *certificateBound
	// domain is how many days before its end a check of the domain fails, -1 at its end; nil:
	// there is no such check.
	domain *int
	// unreachable says that the check lacks the credentials or the way to its target, and
	// check is what is disabled then.
	unreachable bool
	check       *Resource
}

// endpoint adds a check for an endpoint.
func (g *gatusImport) endpoint(v *value, index int) {
	check := &Resource{Kind: project.KindCheck, result: g.Result}
	m := newMembers(v, "", check.Lose)
	e := &gatusEndpoint{members: m, g: g, origin: gatusOrigin(m, "endpoint", index)}
	e.read(m.marked("url"))
	if e.missing != "" {
		g.Miss(project.KindCheck, e.origin, "%s", e.missing)
		return
	}
	added := g.Add(project.KindCheck, e.origin, keyName(e.group, e.name))
	e.lose, e.client.lose, e.check = added.Lose, added.Lose, added
	added.Losses = check.Losses
	added.Set("name", g.name(e.name, e.origin))
	added.Set("type", string(e.kind))
	if enabled := e.truth("enabled"); enabled != nil && !*enabled {
		added.Set("enabled", false)
	}
	interval := gatusInterval
	if given, ok := e.duration("interval"); ok && given > 0 {
		interval = given
	}
	interval = added.SetInterval(interval)
	if timeout, ok := e.client.duration("timeout"); ok && timeout >= time.Millisecond {
		e.config.Set("timeout_seconds", added.Timeout(timeout, interval))
	}
	g.labels(added, e.group, e.texts("extra-labels"))
	added.Set("config", e.config)
	g.alerts(added, e.list("alerts"), e.group)
	g.slowRules(added, e.slow)
	g.certificateRule(added, e.certificate)
	e.addDomain(added)
	for _, window := range e.list("maintenance-windows") {
		g.endpointMaintenance(added, window)
	}
	e.finishAll()
}

// name is the name of a resource for a text with marks.
func (g *gatusImport) name(marked, otherwise string) string {
	if !strings.Contains(marked, markOpen) {
		return Literal(Name(marked, Name(otherwise, "endpoint")))
	}
	return g.fileText(oneLine(marked))
}

// keyName is what the key of an endpoint is made of.
func keyName(group, name string) string { return strings.TrimSpace(shown(group) + " " + shown(name)) }

func (g *gatusImport) labels(check *Resource, group string, extra []pair) {
	if group != "" {
		check.SetLabel("group", g.fileText(group))
	}
	for _, one := range extra {
		check.SetLabel(one.name, g.fileText(one.value.text))
	}
}

// read reads what an endpoint and a step have in common: the target, the conditions and the
// client.
func (e *gatusEndpoint) read(target string) {
	e.name, e.group = e.marked("name"), e.marked("group")
	e.url = strings.TrimSpace(target)
	if e.client = e.inner("client"); e.client == nil {
		e.client = newMembers(nil, "client.", e.lose)
	}
	e.conditions = e.readConditions()
	e.take("ui") // changes what the dashboard shows, and nothing that is checked
	dns := e.inner("dns")
	scheme, rest, ok := strings.Cut(e.url, "://")
	switch {
	case e.url == "":
		e.missing = "it has no url"
	case dns != nil:
		e.readDNS(dns)
	case !ok && marked(e.url):
		e.lose("url: "+shown(e.url), "the scheme comes from a variable; the check takes http and https")
		e.readHTTP(vigil.TypeHTTP)
	case !ok || marked(scheme):
		e.missing = "the type of " + shown(e.url) + " is not known"
	default:
		e.readScheme(scheme, rest)
	}
}

func (e *gatusEndpoint) readScheme(scheme, rest string) {
	switch scheme {
	case "http":
		e.readHTTP(vigil.TypeHTTP)
	case "https":
		e.readHTTP(vigil.TypeHTTPS)
	case "tcp":
		e.readTCP(rest)
	case "icmp":
		e.readPing(rest)
	case "tls":
		e.readTLS(rest)
	case "starttls":
		e.readSTARTTLS(rest)
	case "grpc", "grpcs":
		e.readGRPC(scheme, rest)
	case "ws", "wss":
		e.readWebSocket()
	case "ssh", "udp", "sctp":
		e.missing = "type " + scheme
	default:
		e.missing = "type " + shown(scheme)
	}
}

// finishAll reports the members that no check has.
func (e *gatusEndpoint) finishAll() {
	e.take("ssh") // is for ssh://
	defer e.disable()
	if e.suite == nil {
		e.drop("is for endpoints of a suite", "store", "always-run")
	}
	e.take("method")
	e.take("body")
	e.take("graphql")
	e.take("headers")
	const reason = "Vigil has no such setting of a check"
	e.client.take("network") // is for ICMP, which has read it
	e.loseRoutes(reason)
	if e.client.on("store-cookies") {
		e.lose("client.store-cookies: true", reason)
	}
	e.client.finish()
	e.finish()
}

// disable keeps a check from running that would fail while all is well.
func (e *gatusEndpoint) disable() {
	if e.unreachable && e.check != nil {
		e.check.disable()
	}
}

// hostPort reads host:port of a target; false for one without both.
func (e *gatusEndpoint) hostPort(rest string) (host string, port int, ok bool) {
	rest, _, _ = strings.Cut(rest, "/")
	host, text, err := net.SplitHostPort(rest)
	if err != nil || host == "" {
		e.missing = "the target " + shown(rest) + " is no host:port"
		return "", 0, false
	}
	if port, err = strconv.Atoi(text); err != nil || port < 1 || port > 65535 {
		e.missing = "the port of " + shown(rest) + " is no number from 1 to 65535"
		return "", 0, false
	}
	return e.g.fileText(host), port, true
}

// notVerified carries over that the certificate is not verified, in the config of a server.
func (e *gatusEndpoint) notVerified(config *Object) {
	if e.client.on("insecure") {
		config.Set("verify_tls", false)
	}
	e.ignoreRedirect()
}

func (e *gatusEndpoint) ignoreRedirect() { e.client.take("ignore-redirect") }

func (e *gatusEndpoint) readTCP(rest string) {
	e.kind = vigil.TypeTCP
	host, port, ok := e.hostPort(rest)
	if !ok {
		return
	}
	e.config.Set("host", host)
	e.config.Set("port", port)
	if body := e.body(); body != "" {
		e.config.Set("send", body)
	}
	e.client.take("insecure")
	e.ignoreRedirect()
	e.eachCondition(e.tcpCondition)
}

func (e *gatusEndpoint) readPing(rest string) {
	e.kind = vigil.TypePing
	host := strings.Trim(strings.TrimSuffix(rest, "/"), "[]")
	if host == "" {
		e.missing = "it has no host"
		return
	}
	e.config.Set("host", e.g.fileText(host))
	e.config.Set("packet_count", 1) // as Gatus does
	switch network, _ := e.client.scalar("network"); network {
	case "", "ip":
	case "ip4", "ip6":
		e.config.Set("ip_version", strings.TrimPrefix(network, "ip"))
	default:
		e.lose("client.network: "+network, "is none of ip, ip4 and ip6")
	}
	e.client.take("insecure")
	e.ignoreRedirect()
	e.eachCondition(func(condition) bool { return false })
}

// target is the URL of an HTTP check without the user in it, which becomes basic_auth.
func (e *gatusEndpoint) target() string {
	address, user := cutUser(e.url)
	if user != nil {
		e.config.Set("basic_auth", e.g.authOf(user))
	}
	return address
}

func unescaped(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}
