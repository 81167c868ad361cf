// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// portKeys is where the previous version of Temporal reads the public keys of tokens.
const portKeys = "8481"

// temporalConfig is the configuration of the hosts of Temporal.
func (c *Cluster) temporalConfig() string {
	return filepath.Join(c.options.TemporalConfig, "cluster.yaml")
}

// firstConfig is that with which they start: the previous version reads the keys of tokens from a web server alone.
func (c *Cluster) firstConfig() string {
	if c.options.PreviousServer == "" || c.upgraded {
		return c.temporalConfig()
	}
	return c.path("previous.yaml")
}

// preparePrevious writes firstConfig of the previous version and serves the keys, until the cluster ends.
func (c *Cluster) preparePrevious() error {
	at := net.JoinHostPort(c.outsideHost(), portKeys)
	text, err := os.ReadFile(c.temporalConfig())
	if err != nil {
		return err
	}
	const file = `file://{{ env "TEMPORAL_JWKS" }}`
	if !strings.Contains(string(text), file) {
		return errors.New("cluster.yaml does not read the keys of tokens from " + file)
	}
	changed := strings.ReplaceAll(string(text), file, "http://"+at+"/")
	if err := os.WriteFile(c.path("previous.yaml"), []byte(changed), 0o644); err != nil { //nolint:gosec // it has no secret
		return err
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", at)
	if err != nil {
		return err
	}
	c.keys = &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, c.path("jwks.json")) }),

		ReadHeaderTimeout: 10 * time.Second,
	}
	go func() { _ = c.keys.Serve(listener) }()
	return nil
}

// beginUpgrade brings the schema to the version of Options.TemporalServer, which hosts that start from now on run.
func (c *Cluster) beginUpgrade(ctx context.Context) error {
	if c.options.PreviousServer == "" {
		return errors.New("the cluster did not begin with a previous version of Temporal")
	}
	if err := c.migrateTemporal(ctx, c.options.TemporalSQLTool); err != nil {
		return err
	}
	c.upgraded, c.programs.temporal = true, c.options.TemporalServer
	return nil
}

// upgrade lets the next start of a host of Temporal run what the cluster has now.
func (c *Cluster) upgrade(h *Host) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.programs[0].argv = c.temporalCommand(h.Kind)
}

// temporalCommand starts the services of a kind of hosts.
func (c *Cluster) temporalCommand(kind Kind) []string {
	argv := []string{c.programs.temporal, "--config-file", c.firstConfig(), "start"}
	for _, service := range temporalServices()[kind] {
		argv = append(argv, "--service", service)
	}
	return argv
}
