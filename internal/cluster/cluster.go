// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/vigil-monitor/vigil/internal/pgbin"
)

// Options say what a cluster is made of.
type Options struct {
	Sizes Sizes
	// Dir holds all state of the cluster, which is empty or does not exist; Stop leaves it.
	Dir string
	// Namespaces gives each host a network namespace of its own, which needs root; otherwise the hosts are
	// addresses of loopback, and cannot be cut off.
	Namespaces bool
	// Disks gives the hosts of etcd, Postgres and workers disks of a limited size, in memory, so that they can be full. It needs
	// WithPrivateMounts; Stop removes what is on them.
	Disks bool
	Vigil string // path of the program vigil
	// TemporalServer and TemporalSQLTool are the programs of upstream, which `make temporal-server` builds.
	TemporalServer, TemporalSQLTool string
	// PreviousServer and PreviousSQLTool are those of an earlier version, with which the cluster starts. "": it starts with the above.
	PreviousServer, PreviousSQLTool string
	// ClockPrograms are those of hosts whose clock a drill sets.
	ClockPrograms ClockPrograms
	// TemporalConfig is the directory of cluster.yaml and dynamic.yaml.
	TemporalConfig string
	// PublicURL is VIGIL_PUBLIC_URL; "" is the API's address at the proxy.
	PublicURL string
	// VigilEnv are more settings of the roles.
	VigilEnv []string
	Log      *slog.Logger // what starts; nil discards it
}

// Cluster is a platform that runs.
type Cluster struct {
	options   Options
	network   network
	mu        sync.RWMutex
	hosts     []*Host  // replaced, never changed
	removed   []*Host  // that were of the cluster
	disks     []string // directories that are mounted
	authority *authority
	postgres  *osAccount
	programs  programs
	log       *slog.Logger

	upgraded bool         // to Options.TemporalServer
	keys     *http.Server // of tokens, for a previous version of Temporal

	secret   string   // VIGIL_SECRET_KEY
	operator []string // settings of commands by hand
	key      string   // of the API
}

// Start runs a cluster and returns when each region is probed from. The error of a cluster that did not
// start says which part did not, and where its log is.
func Start(ctx context.Context, options Options) (c *Cluster, err error) {
	if err := options.Sizes.Validate(); err != nil {
		return nil, err
	}
	c = &Cluster{options: options, network: loopback{}, log: options.Log}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	installed, err := pgbin.Find(ctx, nil, 0)
	if err != nil {
		return nil, err
	}
	if c.programs, err = findPrograms(options); err != nil {
		return nil, err
	}
	if c.postgres, err = postgresAccount(); err != nil {
		return nil, err
	}
	if c.authority, err = newAuthority(time.Now, shortLife); err != nil {
		return nil, err
	}
	// The user of Postgres enters what is below, and reads nothing else there.
	for _, dir := range []string{options.Dir, c.path("logs")} {
		if err := os.MkdirAll(dir, 0o711); err != nil { //nolint:gosec // as above
			return nil, err
		}
	}
	if err := os.Chmod(options.Dir, 0o711); err != nil { //nolint:gosec // as above
		return nil, err
	}
	if options.Namespaces {
		if c.network, err = newNamespaces(); err != nil {
			return nil, err
		}
	}
	defer func() {
		if err != nil {
			c.Stop()
			c = nil
		}
	}()
	if err := c.prepare(installed); err != nil {
		return c, err
	}
	return c, c.start(ctx)
}

// prepare makes the hosts and what they run.
func (c *Cluster) prepare(installed pgbin.Installation) error {
	c.setHosts(plan(c.options.Sizes, c.network.base().Addr()))
	for _, h := range c.All() {
		h.network, h.logs = c.network, c.path("logs")
		if err := c.network.join(h); err != nil {
			return err
		}
	}
	if err := c.mountDisks(); err != nil {
		return err
	}
	for _, name := range []string{"postgres", "vigil", "temporal"} {
		if err := c.authority.issue(c.path("operator"), name, name, nil); err != nil {
			return err
		}
	}
	return errors.Join(
		c.addEtcd(), c.addPostgres(KindTemporalPostgres, installed), c.addPostgres(KindVigilPostgres, installed),
		c.addProxy(), c.addTemporal(), c.addRelay(), c.addVigil(),
	)
}

// start runs the hosts, each part once what it needs is there.
func (c *Cluster) start(ctx context.Context) error {
	if err := c.startKinds(ctx, KindEtcd, KindTemporalPostgres, KindVigilPostgres, KindProxy); err != nil {
		return err
	}
	if err := errors.Join(
		c.prepareDatabases(ctx, portTemporalDatabase, "temporal", "temporal", "temporal_visibility"),
		c.prepareDatabases(ctx, portVigilDatabase, "vigil", "vigil"),
	); err != nil {
		return err
	}
	if err := c.prepareTemporal(ctx); err != nil {
		return err
	}
	if err := c.startTemporal(ctx); err != nil {
		return err
	}
	if err := c.prepareVigil(ctx); err != nil {
		return err
	}
	if c.options.Namespaces {
		if err := c.network.lossy(c.Hosts(KindRelay)[0], farLoss); err != nil {
			return err
		}
	}
	if err := c.startKinds(ctx, KindAPI, KindControl, KindRelay, KindWorker); err != nil {
		return err
	}
	if err := c.until(ctx, "each region has a worker", c.regionsOnline); err != nil {
		return err
	}
	for _, h := range c.Hosts(KindAgent) {
		token, err := c.newLocation(ctx, h.Name)
		if err != nil {
			return err
		}
		if err := c.addAgent(h, token); err != nil {
			return err
		}
	}
	return c.startKinds(ctx, KindAgent)
}

func (c *Cluster) startKinds(ctx context.Context, kinds ...Kind) error {
	for _, kind := range kinds {
		for _, h := range c.Hosts(kind) {
			if err := h.Start(); err != nil {
				return err
			}
		}
		c.log.InfoContext(ctx, "started", "hosts", len(c.Hosts(kind)), "of", kind)
	}
	return nil
}

// Stop ends all processes of the cluster, those first that need the others.
func (c *Cluster) Stop() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	last := []Kind{KindProxy, KindTemporalPostgres, KindVigilPostgres, KindEtcd}
	groups := [][]Kind{
		{KindAgent, KindWorker, KindControl, KindAPI},
		{KindFrontend, KindHistory, KindMatching, KindTemporalWorker, KindRelay},
	}
	for _, kind := range last {
		groups = append(groups, []Kind{kind})
	}
	for _, group := range groups {
		var ending sync.WaitGroup
		for _, kind := range group {
			for _, h := range c.Hosts(kind) {
				ending.Go(func() { h.Stop(ctx) })
			}
		}
		ending.Wait()
	}
	if c.keys != nil {
		_ = c.keys.Close()
	}
	c.network.close()
	c.unmountDisks()
}

// Hosts returns the hosts of a kind.
func (c *Cluster) Hosts(kind Kind) (of []*Host) {
	for _, h := range c.All() {
		if h.Kind == kind {
			of = append(of, h)
		}
	}
	return of
}

// All returns the hosts in the order in which they started.
func (c *Cluster) All() []*Host {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Clone(c.hosts)
}

func (c *Cluster) setHosts(hosts []*Host) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hosts = hosts
}

// Host returns the host of a name.
func (c *Cluster) Host(name string) (*Host, error) {
	for _, h := range c.All() {
		if h.Name == name {
			return h, nil
		}
	}
	return nil, fmt.Errorf("the cluster has no host %q", name)
}

func (c *Cluster) proxy() *Host            { return c.Hosts(KindProxy)[0] }
func (c *Cluster) path(name string) string { return filepath.Join(c.options.Dir, name) }
func (c *Cluster) hostDir(h *Host) string  { return c.path(h.Name) }

// APIURL is where the API is, through the proxy.
func (c *Cluster) APIURL() string { return "http://" + net.JoinHostPort(c.proxy().Address, portAPI) }

// Key is an API key of the operator's organization.
func (c *Cluster) Key() string { return c.key }

// Cut takes a host from the network, in one or both directions. It needs network namespaces.
func (c *Cluster) Cut(h *Host, way Way) error { return c.network.cut(h, way) }

// Mend ends Cut.
func (c *Cluster) Mend(h *Host) error { return c.network.mend(h) }

// WriteTable prints what runs where.
func (c *Cluster) WriteTable(w io.Writer) error {
	for _, h := range c.All() {
		what := map[Kind]string{
			KindProxy: "haproxy: API " + portAPI + ", Temporal " + portTemporal + ", Postgres of Vigil " + portVigilDatabase +
				" and of Temporal " + portTemporalDatabase,
			KindRelay: "the way to " + farRegion + ": 120 ms", KindEtcd: "etcd", KindTemporalPostgres: "Postgres with Patroni",
			KindVigilPostgres: "Postgres with Patroni", KindAPI: "vigil api", KindControl: "vigil worker --control",
			KindWorker: "vigil worker --region " + h.Region, KindAgent: "vigil agent",
		}[h.Kind]
		if services := temporalServices()[h.Kind]; services != nil {
			what = fmt.Sprintf("temporal-server: %v", services)
		}
		if h.Kind == KindRelay && c.options.Namespaces {
			what += " for both ways, 0.5 % of packets lost"
		}
		if _, err := fmt.Fprintf(w, "%-22s %-14s %s\n", h.Name, h.Address, what); err != nil {
			return err
		}
	}
	return nil
}
