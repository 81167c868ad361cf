// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// Ports of the proxy.
const (
	portAPI              = "8080"
	portVigilDatabase    = "5432"
	portTemporalDatabase = "5433"
	portTemporal         = "7233"
)

// addProxy prepares the proxy: people and agents reach the API through it, everybody reaches the primaries
// of Postgres and the frontends of Temporal.
func (c *Cluster) addProxy() error {
	h := c.proxy()
	dir := c.hostDir(h)
	if err := c.authority.issue(dir, "proxy", "proxy", nil, h.Address); err != nil {
		return err
	}
	config := filepath.Join(dir, "haproxy.cfg")
	if err := os.WriteFile(config, []byte(c.proxyConfig(dir)), 0o600); err != nil {
		return err
	}
	h.add(program{name: "haproxy", argv: []string{c.programs.haproxy, "-db", "-f", config}})
	return nil
}

// proxyConfig is the configuration of haproxy. A server that does not answer its check twice is left, and
// what is open to it is closed, so that clients connect to another one.
func (c *Cluster) proxyConfig(dir string) string {
	address := c.proxy().Address
	var b strings.Builder
	fmt.Fprintf(&b, `global
  maxconn 8192
  log stdout format raw local0 notice
defaults
  log global
  mode tcp
  option redispatch
  retries 3
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  timeout check 2s
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
`)
	secure := fmt.Sprintf("check-ssl verify required ca-file %s/ca.pem crt %s/proxy.both", dir, dir)
	section := func(name, port string, lines ...string) {
		fmt.Fprintf(&b, "listen %s\n  bind %s\n  source %s\n", name, net.JoinHostPort(address, port), address)
		for _, line := range lines {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	server := func(h *Host, port, check string) {
		fmt.Fprintf(&b, "  server %s %s %s\n", h.Name, net.JoinHostPort(h.Address, port), check)
	}
	for _, each := range []struct {
		kind Kind
		port string
	}{{KindVigilPostgres, portVigilDatabase}, {KindTemporalPostgres, portTemporalDatabase}} {
		section(string(each.kind), each.port, "option httpchk GET /primary", "http-check expect status 200")
		for _, h := range c.Hosts(each.kind) {
			server(h, portPostgres, "check port "+portPatroni+" "+secure)
		}
	}
	// The check is a handshake: a process that is frozen accepts connections, as the kernel does it.
	section("temporal", portTemporal, "balance leastconn")
	for _, h := range c.Hosts(KindFrontend) {
		server(h, portTemporal, "check check-alpn h2 check-sni temporal-frontend verifyhost temporal-frontend "+secure)
	}
	section("api", portAPI, "mode http", "balance leastconn", "option forwardfor", "option httpchk GET /health",
		"http-check expect status 200", "retry-on conn-failure empty-response")
	for _, h := range c.Hosts(KindAPI) {
		server(h, portAPI, "check")
	}
	return b.String()
}
