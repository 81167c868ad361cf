// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/vigil-monitor/vigil/internal/pgbin"
)

// Ports of the parts, on the address of their host.
const (
	portPostgres = "5432"
	portPatroni  = "8008"
	portEtcd     = "2379"
	portEtcdPeer = "2380"
)

// addEtcd prepares the members that hold which Postgres is the primary.
func (c *Cluster) addEtcd() error {
	var members []string
	for _, h := range c.Hosts(KindEtcd) {
		members = append(members, h.Name+"=https://"+net.JoinHostPort(h.Address, portEtcdPeer))
	}
	for _, h := range c.Hosts(KindEtcd) {
		dir := c.hostDir(h)
		// Members look for the address that a peer comes from in its certificate: on loopback it is that one.
		if err := c.authority.issue(dir, "etcd", h.Name, nil, h.Address, "127.0.0.1"); err != nil {
			return err
		}
		file := func(name string) string { return filepath.Join(dir, name) }
		client, peer := "https://"+net.JoinHostPort(h.Address, portEtcd), "https://"+net.JoinHostPort(h.Address, portEtcdPeer)
		h.add(program{name: "etcd", argv: []string{
			c.programs.etcd, "--name", h.Name, "--data-dir", file("data"), "--log-level", "warn",
			"--listen-client-urls", client, "--advertise-client-urls", client,
			"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
			"--initial-cluster", strings.Join(members, ","), "--initial-cluster-state", "new", "--enable-v2",
			"--client-cert-auth", "--trusted-ca-file", file("ca.pem"), "--cert-file", file("etcd.pem"), "--key-file", file("etcd.key"),
			"--peer-client-cert-auth", "--peer-trusted-ca-file", file("ca.pem"),
			"--peer-cert-file", file("etcd.pem"), "--peer-key-file", file("etcd.key"),
		}})
	}
	return nil
}

// addPostgres prepares the hosts of one Postgres: Patroni runs it there, and makes the standby the primary
// when the primary is lost.
func (c *Cluster) addPostgres(kind Kind, installed pgbin.Installation) error {
	for _, h := range c.Hosts(kind) {
		dir := c.hostDir(h)
		data, sockets := filepath.Join(dir, "data"), filepath.Join(dir, "sockets")
		for _, made := range []string{data, sockets} {
			if err := os.MkdirAll(made, 0o700); err != nil {
				return err
			}
		}
		if err := c.postgres.own(dir, data, sockets); err != nil {
			return err
		}
		// The address of the proxy is in the certificate, as clients verify what they connect to.
		names := []string{h.Address, c.proxy().Address, "localhost"}
		if relay := c.Hosts(KindRelay); len(relay) > 0 {
			names = append(names, relay[0].Address)
		}
		for file, name := range map[string]string{"server": h.Name, "postgres": "postgres", "replicator": "replicator", "patroni": h.Name} {
			if err := c.authority.issue(dir, file, name, c.postgres, names...); err != nil {
				return err
			}
		}
		config := filepath.Join(dir, "patroni.yaml")
		if err := os.WriteFile(config, []byte(c.patroniConfig(h, dir, installed)), 0o600); err != nil {
			return err
		}
		if err := c.postgres.own(config); err != nil {
			return err
		}
		h.works = append(h.works, data)
		// Its REST API looks for the name of its address when it is opened, and where no name server answers for 10 s.
		h.add(program{
			name: "patroni", argv: []string{c.programs.patroni, config}, user: c.postgres, dir: dir,
			env: []string{"RES_OPTIONS=timeout:1 attempts:1"},
		})
	}
	return nil
}

// patroniConfig is the configuration of Patroni on a host. The times are the shortest that Patroni takes:
// a primary that is lost is replaced within ttl.
func (c *Cluster) patroniConfig(h *Host, dir string, installed pgbin.Installation) string {
	var etcd []string
	for _, member := range c.Hosts(KindEtcd) {
		etcd = append(etcd, net.JoinHostPort(member.Address, portEtcd))
	}
	return strings.NewReplacer(
		"SCOPE", string(h.Kind), "NAME", h.Name, "ADDRESS", h.Address, "DIR", dir, "BIN", installed.Dir,
		"ETCD", strings.Join(etcd, ", "), "CONNECTIONS", map[Kind]string{KindTemporalPostgres: "400", KindVigilPostgres: "300"}[h.Kind],
	).Replace(patroniTemplate)
}

const patroniTemplate = `scope: SCOPE
name: NAME
restapi:
  listen: ADDRESS:8008
  connect_address: ADDRESS:8008
  certfile: DIR/patroni.pem
  keyfile: DIR/patroni.key
  cafile: DIR/ca.pem
  verify_client: required
ctl: {cacert: DIR/ca.pem, certfile: DIR/patroni.pem, keyfile: DIR/patroni.key}
# By the interface of etcd's second version a primary keeps the lock only where it still has it. By that of the third, Patroni
# 3.0 takes it from the new primary when it was frozen in the instant in which it renews it, and what the new one wrote is gone.
etcd:
  hosts: [ETCD]
  protocol: https
  cacert: DIR/ca.pem
  cert: DIR/patroni.pem
  key: DIR/patroni.key
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 2
    retry_timeout: 5
    maximum_lag_on_failover: 1048576
    # A commit is acknowledged once the standby has it, so that a failover loses none of them.
    synchronous_mode: true
    postgresql:
      use_pg_rewind: true
      parameters:
        max_connections: CONNECTIONS
        wal_log_hints: "on"
        shared_buffers: 64MB
        max_wal_size: 512MB
        wal_keep_size: 128MB
        # A standby that does not answer is found by this, and commits wait for it no more. Else they wait until its entry in etcd
        # ends, for ttl.
        wal_sender_timeout: 5s
  initdb: [{encoding: UTF8}, {locale: C.UTF-8}, data-checksums]
  # The directory of the socket can be entered by this user alone. Everybody else shows a certificate of
  # the name of the user that they are in Postgres.
  pg_hba: &hba
    - local all all trust
    - hostssl replication replicator all cert
    - hostssl all all all cert
postgresql:
  listen: ADDRESS:5432
  connect_address: ADDRESS:5432
  data_dir: DIR/data
  bin_dir: BIN
  use_unix_socket: true
  pgpass: DIR/pgpass
  # A new standby does not wait for a checkpoint that is spread over minutes.
  basebackup: [{checkpoint: fast}]
  authentication:
    superuser: &superuser
      {username: postgres, sslmode: verify-ca, sslrootcert: DIR/ca.pem, sslcert: DIR/postgres.pem, sslkey: DIR/postgres.key}
    replication:
      {username: replicator, sslmode: verify-ca, sslrootcert: DIR/ca.pem, sslcert: DIR/replicator.pem, sslkey: DIR/replicator.key}
    rewind: *superuser
  parameters:
    unix_socket_directories: DIR/sockets
    ssl: "on"
    ssl_ca_file: DIR/ca.pem
    ssl_cert_file: DIR/server.pem
    ssl_key_file: DIR/server.key
    log_min_messages: warning
  pg_hba: *hba
`

// dsn is the address of a database for a user, by host:port, with the certificate of that user in dir.
func dsn(user, address, database, dir string) string {
	file := func(name string) string { return filepath.Join(dir, name) }
	return fmt.Sprintf("postgres://%s@%s/%s?sslmode=verify-full&sslrootcert=%s&sslcert=%s&sslkey=%s&connect_timeout=3",
		user, address, database, file("ca.pem"), file(user+".pem"), file(user+".key"))
}
