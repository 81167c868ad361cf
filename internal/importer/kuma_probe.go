// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil"
)

// kumaInterval returns the interval of a monitor. Kuma's own bounds are 20 s and 24 days.
func kumaInterval(m kumaRow) time.Duration {
	const standard = 60
	seconds := m.whole("interval", standard)
	if seconds <= 0 {
		seconds = standard
	}
	return time.Duration(min(seconds, int64(30*24*time.Hour/time.Second))) * time.Second
}

// kumaTimeout returns the timeout of a monitor; 0 stands for 80 % of the interval.
func kumaTimeout(m kumaRow) time.Duration {
	seconds, ok := m.number("timeout")
	if !ok || seconds <= 0 {
		return max(kumaInterval(m)*8/10, time.Second).Truncate(time.Second)
	}
	return time.Duration(math.Round(min(seconds, 1e6)*1000)) * time.Millisecond
}

// kumaTimeout returns the timeout of a check. What Kuma has chosen itself, 80 % of the interval, is no
// member of the monitor that could be lost.
func (c *Resource) kumaTimeout(m kumaRow) int {
	timeout, interval := kumaTimeout(m), kumaInterval(m)
	given, _ := m.number("timeout")
	if chosen := interval * 8 / 10; given <= 0 || (timeout-chosen).Abs() < 100*time.Millisecond {
		if timeout = min((timeout + time.Second - 1).Truncate(time.Second), interval); timeout > maxTimeout {
			timeout = maxTimeout
			c.result.LoseSetting("timeout", "where it is 80 %% of the interval, as Kuma chooses it, a check waits at most %s", seconds(maxTimeout))
		}
	}
	return c.Timeout(timeout, interval)
}

func isHTTPMonitor(kind string) bool {
	return slices.Contains([]string{"http", "keyword", "json-query"}, kind)
}

// probeOf returns the check type of a monitor, and what sets its config. A reason says why
// the monitor cannot be carried over.
func (k *kumaImport) probeOf(m kumaRow) (set func(*Resource), kind vigil.CheckType, reason string) {
	switch kumaType := m.line("type"); kumaType {
	case "http", "keyword", "json-query":
		return kumaHTTP(m)
	case "port":
		return kumaPort(m)
	case "ping":
		return kumaPing(m)
	case "dns":
		return kumaDNS(m)
	case "smtp":
		return kumaSMTP(m)
	case "websocket-upgrade":
		return kumaWebSocket(m)
	case "globalping":
		return kumaGlobalping(m)
	case "grpc-keyword":
		return k.kumaGRPC(m)
	case "real-browser":
		return kumaBrowser(m)
	case "tailscale-ping":
		return kumaTailscale(m)
	case kumaPushed:
		return kumaPush(m)
	case "manual":
		return nil, "", "type manual: somebody sets its state by hand, and nothing is checked"
	default:
		return k.otherType(m)
	}
}

func kumaPort(m kumaRow) (func(*Resource), vigil.CheckType, string) {
	host, reason := kumaHost(m.line("hostname"))
	port := m.whole("port", 0)
	if reason == "" && !validPort(port) {
		reason = fmt.Sprintf("port %q is not a port", m.text("port"))
	}
	return func(c *Resource) { c.Set("config", Object{{"host", host}, {"port", port}}) }, vigil.TypeTCP, reason
}

func validPort(port int64) bool { return port >= 1 && port <= 65535 }

// kumaPing is up with one reply, however many requests are sent.
func kumaPing(m kumaRow) (func(*Resource), vigil.CheckType, string) {
	host, reason := kumaHost(m.line("hostname"))
	return func(c *Resource) {
		const most = 10
		given := max(m.whole("ping_count", 1), 1)
		count := min(given, most)
		if given != count {
			c.Lose(fmt.Sprintf("ping_count: %d", given), "Vigil sends at most %d packets", most)
		}
		config := Object{{"host", host}, {"packet_count", count}}
		if count > 1 {
			config.Set("max_packet_loss_percent", 99)
		}
		if _, has := m["ping_per_request_timeout"]; has { // older versions do not use the timeout for ping
			config.Set("timeout_seconds", c.kumaTimeout(m))
		}
		c.Set("config", config)
	}, vigil.TypePing, reason
}

// kumaSMTP connects, and secures the connection when it can.
func kumaSMTP(m kumaRow) (func(*Resource), vigil.CheckType, string) {
	host, reason := kumaHost(m.line("hostname"))
	port := m.whole("port", 0)
	if port == 0 {
		port = 25
	}
	if reason == "" && !validPort(port) {
		reason = fmt.Sprintf("port %q is not a port", m.text("port"))
	}
	return func(c *Resource) {
		security := "none"
		switch given := m.line("smtp_security"); given {
		case "secure":
			security = "tls"
		case "starttls":
			security = "starttls"
		case "nostarttls":
		default:
			c.Lose("smtp_security: "+given, "the connection is not secured: Vigil has starttls always (security: starttls) or never (none)")
		}
		c.Set("config", Object{{"smtp", Object{{"host", host}, {"port", port}, {"security", security}}}})
	}, vigil.TypeSMTPIMAP, reason
}

// otherType is for types that Vigil lacks. With --as-tcp, the host and the port of one that
// uses TCP are checked.
func (k *kumaImport) otherType(m kumaRow) (func(*Resource), vigil.CheckType, string) {
	kind := m.line("type")
	if kind == "" {
		return nil, "", "it has no type"
	}
	host, port, found := kumaAddress(m)
	switch {
	case !found:
		return nil, "", fmt.Sprintf("type %s: Vigil has no check of this type", kind)
	case !k.options.Switches[kumaAsTCP]:
		return nil, "", fmt.Sprintf("type %s: Vigil has no check of this type; --%s checks that %s accepts connections",
			kind, kumaAsTCP, net.JoinHostPort(host, strconv.FormatInt(port, 10)))
	}
	return func(c *Resource) {
		lost := strings.Join(kumaProtocolMembers(m), ", ")
		if lost == "" {
			lost = "the protocol"
		}
		c.Lose("type "+kind+": "+lost, "Vigil only checks that the port accepts connections")
		c.Set("config", Object{{"host", host}, {"port", port}})
	}, vigil.TypeTCP, ""
}

// kumaAddress returns the host and the TCP port of a monitor of another type. Types over UDP,
// and those without a port, have none.
func kumaAddress(m kumaRow) (host string, port int64, found bool) {
	var address string
	standard := map[string]int64{
		"mqtt": 1883, "sqlserver": 1433, "postgres": 5432, "mysql": 3306, "mongodb": 27017, "redis": 6379, "rabbitmq": 15672,
		"kafka-producer": 9092, "oracledb": 1521, "grpc-keyword": 443,
	}[m.line("type")]
	switch m.line("type") {
	case "mqtt":
		address = m.line("hostname")
		if own := m.whole("port", 0); own != 0 {
			standard = own
		}
	case "sqlserver":
		address = serverOf(m.line("database_connection_string"))
	case "postgres", "mysql", "mongodb", "redis", "oracledb":
		address = m.line("database_connection_string")
	case "rabbitmq":
		address = firstText(m.list("rabbitmq_nodes"))
	case "kafka-producer":
		address = firstText(m.list("kafka_producer_brokers"))
	case "grpc-keyword":
		address = m.line("grpc_url")
	}
	host, port = splitAddress(address, standard)
	host, reason := kumaHost(host)
	return host, port, reason == "" && validPort(port)
}

func firstText(list []any) string {
	if len(list) == 0 {
		return ""
	}
	text, _ := list[0].(string)
	return text
}

// serverOf returns the server of a connection string such as "Server=db,1433;User Id=sa".
func serverOf(text string) string {
	for part := range strings.SplitSeq(text, ";") {
		name, value, _ := strings.Cut(part, "=")
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "server", "data source", "address", "addr":
			value = strings.TrimPrefix(strings.TrimSpace(value), "tcp:")
			host, _, _ := strings.Cut(value, `\`)
			return strings.Replace(host, ",", ":", 1)
		}
	}
	return ""
}

// splitAddress returns the host and the port of an address with or without a scheme,
// credentials and a path. Of a list of servers it is the first.
func splitAddress(address string, standard int64) (host string, port int64) {
	scheme, rest, found := strings.Cut(address, "://")
	if !found {
		scheme, rest = "", address
	}
	switch scheme {
	case "http", "ws":
		standard = 80
	case "https", "wss":
		standard = 443
	}
	rest = rest[:indexOr(rest, "/?#")]
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = rest[at+1:]
	}
	rest, _, _ = strings.Cut(rest, ",")
	host, text, err := net.SplitHostPort(rest)
	if err != nil {
		return strings.Trim(rest, "[]"), standard
	}
	port, err = strconv.ParseInt(text, 10, 32)
	if err != nil {
		return host, 0
	}
	return host, port
}

func indexOr(text, any string) int {
	if i := strings.IndexAny(text, any); i >= 0 {
		return i
	}
	return len(text)
}

// kumaHost returns a host name or an IP address, or why a text is none.
func kumaHost(text string) (host, reason string) {
	bare := strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	if addr, err := netip.ParseAddr(bare); err == nil && addr.Zone() == "" {
		return bare, ""
	}
	name := strings.TrimSuffix(text, ".")
	last := name[strings.LastIndexByte(name, '.')+1:]
	if name == "" {
		return "", "it has no hostname"
	}
	parsed, err := url.Parse("http://" + name)
	bad := err != nil || parsed.Host != name || parsed.Port() != "" || strings.ContainsAny(name, ":@[]%!$&'()*+,;=\"<>{}|\\^`~ ") ||
		strings.HasPrefix(name, ".") || strings.Contains(name, "..") || len(name) > 253 || strings.Trim(last, "0123456789") == ""
	for label := range strings.SplitSeq(name, ".") {
		bad = bad || len(label) > 63 || strings.HasPrefix(label, "-") || strings.HasSuffix(label, "-")
	}
	if bad {
		return "", fmt.Sprintf("hostname %q is not a host name or an IP address", withoutUser(text))
	}
	return name, ""
}
