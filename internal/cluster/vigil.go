// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// namespace is that of Vigil in Temporal.
const namespace = "vigil"

// rights are what the roles of Vigil may do in Temporal. Its authorizer knows reading, writing and
// administering a namespace, and a role that polls tasks writes.
func rights() map[string]string {
	return map[string]string{
		"operator": namespace + ":admin", "reader": namespace + ":read",
		"api": namespace + ":write", "control": namespace + ":write", "worker": namespace + ":write",
	}
}

// role is what a process of Vigil has of its own: certificates, a token, and how it reaches the others.
func (c *Cluster) role(dir, role, database, temporal string) ([]string, error) {
	for file, name := range map[string]string{"vigil": "vigil", "temporal-client": "vigil-" + role} {
		if err := c.authority.issue(dir, file, name, nil); err != nil {
			return nil, err
		}
	}
	if err := c.authority.issueToken(dir, "vigil-"+role, rights()[role]); err != nil {
		return nil, err
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	return slices.Concat(c.options.VigilEnv, []string{
		"DATABASE_URL=" + dsn("vigil", database, "vigil", dir),
		"TEMPORAL_ADDRESS=" + temporal,
		"TEMPORAL_NAMESPACE=" + namespace,
		"TEMPORAL_TLS=true",
		"TEMPORAL_TLS_SERVER_NAME=temporal-frontend",
		"TEMPORAL_TLS_SERVER_CA_CERT_PATH=" + file("ca.pem"),
		"TEMPORAL_TLS_CLIENT_CERT_PATH=" + file("temporal-client.pem"),
		"TEMPORAL_TLS_CLIENT_KEY_PATH=" + file("temporal-client.key"),
		"VIGIL_TEMPORAL_API_KEY_FILE=" + file("token"),
		"VIGIL_SECRET_KEY=" + c.secret,
		"VIGIL_DATA_DIR=" + file("vigil-data"),
		"VIGIL_CANARIES=off",
		"VIGIL_LOG_LEVEL=info",
		"VIGIL_PUBLIC_URL=" + cmp.Or(
			c.options.PublicURL,
			c.APIURL(),
		),
		"VIGIL_TRUSTED_PROXIES=" + c.proxy().Address + "/32",
		"VIGIL_ADDRESS_RATE=0",
		"VIGIL_ALLOWED_PRIVATE_CIDRS=" + c.reachable(),
	}), nil
}

// reachable are the networks of targets and receivers: the machine itself.
func (c *Cluster) reachable() string {
	if c.network.base().Addr().IsLoopback() {
		return "127.0.0.0/8"
	}
	return c.network.base().String()
}

// addVigil prepares the roles.
func (c *Cluster) addVigil() error {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails
	c.secret = hex.EncodeToString(secret)
	at := func(port string) string { return net.JoinHostPort(c.proxy().Address, port) }
	var err error
	if c.operator, err = c.role(c.path("operator"), "operator", at(portVigilDatabase), at(portTemporal)); err != nil {
		return err
	}
	for _, kind := range []Kind{KindAPI, KindControl, KindWorker} {
		for _, h := range c.Hosts(kind) {
			if err := c.addVigilHost(h); err != nil {
				return err
			}
		}
	}
	return nil
}

// addVigilHost prepares a host of a role.
func (c *Cluster) addVigilHost(h *Host) error {
	to := c.proxy()
	if h.Region == farRegion {
		to = c.Hosts(KindRelay)[0]
	}
	env, err := c.role(
		c.hostDir(h),
		string(h.Kind),
		net.JoinHostPort(to.Address, portVigilDatabase),
		net.JoinHostPort(to.Address, portTemporal),
	)
	if err != nil {
		return err
	}
	env = append(env, "VIGIL_LISTEN="+net.JoinHostPort(h.Address, portAPI), "VIGIL_METRICS_LISTEN="+net.JoinHostPort(h.Address, "9090"))
	if h.Kind == KindAPI {
		env = append(env, "VIGIL_READ_DATABASE_URL="+c.standby(c.hostDir(h)))
	}
	argv := []string{c.options.Vigil}
	switch h.Kind {
	case KindAPI:
		argv = append(argv, "api")
	case KindControl:
		argv = append(argv, "worker", "--control")
	default:
		argv = append(argv, "worker", "--region", h.Region)
	}
	h.add(program{name: "vigil", argv: argv, env: env})
	return nil
}

// standby is the address of the standby of Vigil's Postgres, whichever host has it; where there is none it is that of the primary.
func (c *Cluster) standby(dir string) string {
	var hosts []string
	for _, h := range c.Hosts(KindVigilPostgres) {
		hosts = append(hosts, net.JoinHostPort(h.Address, portPostgres))
	}
	return dsn("vigil", strings.Join(hosts, ","), "vigil", dir) + "&target_session_attrs=prefer-standby"
}

// farLate is how long a byte takes to or from the far region: 120 ms for both ways.
const farLate = 60 * time.Millisecond

// farLoss is how many of a thousand packets the relay loses in each direction, where it has a link of its own.
const farLoss = 5

// addRelay prepares the long way of the far region.
func (c *Cluster) addRelay() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	h, to := c.Hosts(KindRelay)[0], c.proxy().Address
	pair := func(port string) string { return net.JoinHostPort(h.Address, port) + "=" + net.JoinHostPort(to, port) }
	h.add(program{name: "relay", argv: []string{self, "relay", farLate.String(), pair(portVigilDatabase), pair(portTemporal)}})
	return nil
}

// addAgent prepares an agent of the location whose token is in a file.
func (c *Cluster) addAgent(h *Host, token string) error {
	dir := c.hostDir(h)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file := filepath.Join(dir, "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		return err
	}
	h.add(program{name: "agent", argv: []string{
		c.options.Vigil, "agent", "--url", c.APIURL(), "--token-file", file, "--data-dir", filepath.Join(dir, "data"),
		"--allow", c.reachable(), "--canaries", "off", "--name", h.Name,
	}})
	return nil
}

// prepareNamespace makes Temporal's namespace and Vigil's schema, or brings them to its version.
func (c *Cluster) prepareNamespace(ctx context.Context) error {
	if err := c.until(ctx, "Temporal's namespace is made", func(ctx context.Context) error {
		return c.finish(ctx, c.operator, c.options.Vigil, "temporal", "setup")
	}); err != nil {
		return err
	}
	return c.finish(ctx, c.operator, c.options.Vigil, "migrate")
}

// prepareVigil makes the namespace, the schema and the first key.
func (c *Cluster) prepareVigil(ctx context.Context) error {
	if err := c.prepareNamespace(ctx); err != nil {
		return err
	}
	key, err := c.output(ctx, c.operator, c.options.Vigil, "keys", "create")
	c.key = key
	return err
}
