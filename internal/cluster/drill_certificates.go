// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// TakeCertificates is for all hosts of what certified has. Their certificates, with the tokens of Vigil's roles, are exchanged for
// some that end soon, and these for others before they end. Both times all connections are broken, and the new ones must show
// what is on the disk: nothing that started with the first ones may go on with them.
const TakeCertificates Take = "certificates end and are exchanged"

const (
	// soon is how long the certificates last that end in a drill, and exchangeLimit how long what has them may take to use others.
	soon, exchangeLimit = 90 * time.Second, 40 * time.Second
	// afterEnd is from the end of certificates until all connections are broken.
	afterEnd = 2 * time.Second
)

// certified are the kinds of hosts whose certificates are exchanged together, by what a drill calls them.
func certified() map[string][]Kind {
	all := Rolling()
	for _, kind := range []Kind{KindTemporalPostgres, KindVigilPostgres, KindEtcd, KindProxy} {
		all[string(kind)] = []Kind{kind}
	}
	return all
}

// certificateDrills are the drills of certificates, each as often as rounds say.
func certificateDrills(rounds int) (all []Drill) {
	for _, what := range slices.Sorted(maps.Keys(certified())) {
		all = append(all, repeated(what, TakeCertificates, rounds)...)
	}
	return all
}

// certifiedHosts are the hosts of what certified has.
func (c *Cluster) certifiedHosts(what string) (all []taken) {
	for _, kind := range certified()[what] {
		for _, h := range c.Hosts(kind) {
			all = append(all, taken{Host: h})
		}
	}
	return all
}

// exchange does what TakeCertificates says.
func (d *Drills) exchange(ctx context.Context, hosts []taken) error {
	ends := time.Now().Add(soon)
	if err := d.renew(ctx, hosts, soon); err != nil {
		return err
	}
	if err := d.renew(ctx, hosts, d.c.authority.life-time.Hour); err != nil {
		return err
	}
	left := time.Until(ends)
	if left < 0 {
		return fmt.Errorf("certificates of %v had ended %v before the next ones were used", soon, -left)
	}
	if err := timing.Sleep(ctx, left+afterEnd); err != nil {
		return err
	}
	for _, h := range d.c.peers(hosts) {
		if err := errors.Join(h.restart(ctx), timing.Sleep(ctx, rollingPause)); err != nil {
			return err
		}
	}
	return d.reconnect(ctx)
}

// renew gives hosts certificates and tokens that end after life, and returns once they are in use.
func (d *Drills) renew(ctx context.Context, hosts []taken, life time.Duration) error {
	for _, h := range hosts {
		if err := d.c.authority.renew(d.c.hostDir(h.Host), life); err != nil {
			return err
		}
		if h.Kind == KindTemporalPostgres || h.Kind == KindVigilPostgres {
			h.reload()
		}
	}
	for _, h := range hosts {
		for port, file := range servedBy(h.Kind) {
			if err := d.until(ctx, exchangeLimit, h.Name+" serves what is on its disk at "+port, func(ctx context.Context) error {
				return d.c.serves(ctx, h.Host, port, file)
			}); err != nil {
				return err
			}
		}
	}
	return d.reconnect(ctx)
}

// servedBy are the certificates of a kind's servers, by their ports.
func servedBy(kind Kind) map[string]string {
	switch kind {
	case KindEtcd:
		return map[string]string{portEtcd: "etcd"}
	case KindTemporalPostgres, KindVigilPostgres:
		return map[string]string{portPostgres: "server", portPatroni: "patroni"}
	case KindFrontend:
		return map[string]string{portTemporal: "frontend"}
	case KindHistory:
		return map[string]string{"7234": "internode"}
	case KindMatching:
		return map[string]string{"7235": "internode"}
	default: // they are clients alone
		return nil
	}
}

// reload asks the programs of a host to read their files again.
func (h *Host) reload() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range h.running {
		if one != nil {
			_ = one.cmd.Process.Signal(syscall.SIGHUP) // it may have ended
		}
	}
}

// peers are the hosts that are restarted so that all others of theirs connect to them again, with certificates that those have
// not read at a start: one of each kind of Temporal, and etcd for what is its client.
func (c *Cluster) peers(of []taken) (all []*Host) {
	seen := make(map[Kind]bool)
	for _, h := range of {
		if seen[h.Kind] {
			continue
		}
		seen[h.Kind] = true
		switch h.Kind {
		case KindFrontend, KindHistory, KindMatching:
			all = append(all, h.Host)
		case KindEtcd, KindTemporalPostgres, KindVigilPostgres:
			all = append(all, c.Hosts(KindEtcd)...)
		default: // their connections lead through the proxy, or to Postgres
		}
	}
	return all
}

// reconnect breaks all connections through the proxy and those to Postgres, and returns once new ones show certificates that
// are on the disk now, and none shows another.
func (d *Drills) reconnect(ctx context.Context) error {
	if err := d.c.proxy().restart(ctx); err != nil {
		return err
	}
	shown := make(map[string]bool)
	for _, serial := range d.c.authority.serials {
		shown[serial] = true
	}
	for kind, user := range map[Kind]string{KindTemporalPostgres: "temporal", KindVigilPostgres: "vigil"} {
		for _, h := range d.c.Hosts(kind) {
			if err := d.c.asked(ctx, h, `SELECT count(pg_terminate_backend(pid)), '' FROM pg_stat_activity
				WHERE usename <> 'postgres' AND pid <> pg_backend_pid()`, func(string, string) error { return nil }); err != nil {
				return err
			}
		}
		if err := d.until(ctx, exchangeLimit, user+" is connected with what is on the disk", func(ctx context.Context) error {
			found := false
			for _, h := range d.c.Hosts(kind) {
				if err := d.c.asked(ctx, h, `SELECT usename, client_serial::text FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
					WHERE usename <> 'postgres' AND client_serial IS NOT NULL`, func(name, serial string) error {
					found = found || name == user
					if !shown[serial] {
						return fmt.Errorf("%s shows the certificate %s to %s", name, serial, h.Name)
					}
					return nil
				}); err != nil {
					return err
				}
			}
			if !found {
				return errors.New("it is not connected")
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// asked calls each for the rows of two columns that a Postgres of its own answers.
func (c *Cluster) asked(ctx context.Context, h *Host, query string, each func(one, other string) error) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	db, err := sql.Open("pgx", dsn("postgres", net.JoinHostPort(h.Address, portPostgres), "postgres", c.path("operator")))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var one, other string
		if err := errors.Join(rows.Scan(&one, &other), each(one, other)); err != nil {
			return err
		}
	}
	return rows.Err()
}

// serves returns an error while a server has another certificate than that of a file on its disk.
func (c *Cluster) serves(ctx context.Context, h *Host, port, file string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(h.Address, port))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	protocols := []string{"h2"}
	if port == portPostgres { // asks first, by SSLRequest of its protocol
		protocols = nil
		if _, err := conn.Write([]byte{0, 0, 0, 8, 4, 210, 22, 47}); err != nil {
			return err
		}
		if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
			return err
		}
	}
	roots := x509.NewCertPool()
	roots.AddCert(c.authority.cert)
	dir := c.path("operator")
	own, err := tls.LoadX509KeyPair(filepath.Join(dir, "postgres.pem"), filepath.Join(dir, "postgres.key"))
	if err != nil {
		return err
	}
	secure := tls.Client(conn, &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: roots, Certificates: []tls.Certificate{own}, ServerName: h.Address, NextProtos: protocols,
	})
	if err := secure.HandshakeContext(ctx); err != nil {
		return err
	}
	serial := secure.ConnectionState().PeerCertificates[0].SerialNumber.String()
	if want := c.authority.serials[filepath.Join(c.hostDir(h), file+".pem")]; serial != want {
		return fmt.Errorf("it is %s, and not %s", serial, want)
	}
	return nil
}
