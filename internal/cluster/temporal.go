// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
)

// temporalServices are the services that a host of each kind runs.
func temporalServices() map[Kind][]string {
	return map[Kind][]string{
		KindFrontend: {"frontend", "internal-frontend"}, KindHistory: {"history"},
		KindMatching: {"matching"}, KindTemporalWorker: {"worker"},
	}
}

// addTemporal prepares the hosts of Temporal with the configuration of temporal-config.
func (c *Cluster) addTemporal() error {
	keys, err := c.authority.keySet()
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.path("jwks.json"), keys, 0o644); err != nil { //nolint:gosec // public keys
		return err
	}
	if c.options.PreviousServer != "" {
		if err := c.preparePrevious(); err != nil {
			return err
		}
	}
	for kind := range temporalServices() {
		for _, h := range c.Hosts(kind) {
			if err := c.addTemporalHost(h); err != nil {
				return err
			}
		}
	}
	return nil
}

// addTemporalHost prepares a host of Temporal.
func (c *Cluster) addTemporalHost(h *Host) error {
	dir := c.hostDir(h)
	for file, name := range map[string]string{
		"internode": "temporal-internode", "frontend": "temporal-frontend", "postgres": "temporal",
	} {
		if err := c.authority.issue(dir, file, name, nil, name, h.Address, c.proxy().Address); err != nil {
			return err
		}
	}
	h.add(program{name: "temporal", argv: c.temporalCommand(h.Kind), env: []string{
		"BIND_ON_IP=" + h.Address,
		"POSTGRES_ADDRESS=" + net.JoinHostPort(c.proxy().Address, portTemporalDatabase),
		"TEMPORAL_TLS_DIR=" + dir, "TEMPORAL_TLS_REFRESH_INTERVAL=10s", "TEMPORAL_JWKS=" + c.path("jwks.json"),
		"TEMPORAL_DYNAMIC_CONFIG=" + filepath.Join(c.options.TemporalConfig, "dynamic.yaml"),
	}})
	return nil
}

// temporalSchemas are the schemas of Temporal's two databases, by their names.
func temporalSchemas() map[string]string {
	return map[string]string{"temporal": "postgresql/v12/temporal", "temporal_visibility": "postgresql/v12/visibility"}
}

// prepareTemporal makes the schema of Temporal's two databases, or brings it to the version of the tool.
func (c *Cluster) prepareTemporal(ctx context.Context) error {
	for database := range temporalSchemas() {
		made, err := c.hasSchema(ctx, database)
		if err != nil {
			return err
		}
		if made {
			continue
		}
		if err := c.finish(ctx, nil, append(c.schemaTool(c.programs.sqlTool, database), "setup-schema", "-v", "0.0")...); err != nil {
			return err
		}
	}
	return c.migrateTemporal(ctx, c.programs.sqlTool)
}

// hasSchema is whether a database of Temporal has a schema, of any version.
func (c *Cluster) hasSchema(ctx context.Context, database string) (made bool, err error) {
	db, err := c.openDatabase("temporal", portTemporalDatabase, database)
	if err != nil {
		return false, err
	}
	defer func() { _ = db.Close() }()
	err = db.QueryRowContext(ctx, "SELECT to_regclass('schema_version') IS NOT NULL").Scan(&made)
	return made, err
}

// migrateTemporal brings the schema of both databases to the version of a tool for it.
func (c *Cluster) migrateTemporal(ctx context.Context, tool string) error {
	for database, schema := range temporalSchemas() {
		if err := c.finish(ctx, nil, append(c.schemaTool(tool, database), "update-schema", "--schema-name", schema)...); err != nil {
			return err
		}
	}
	return nil
}

// schemaTool is the command of a tool for the schema, on the primary.
func (c *Cluster) schemaTool(tool, database string) []string {
	dir := c.path("operator")
	return []string{
		tool, "--endpoint", c.proxy().Address, "--port", portTemporalDatabase, "--user", "temporal", "--database", database,
		"--plugin", "postgres12_pgx", "--tls", "--tls-ca-file", filepath.Join(dir, "ca.pem"),
		"--tls-cert-file", filepath.Join(dir, "temporal.pem"), "--tls-key-file", filepath.Join(dir, "temporal.key"),
	}
}

// startTemporal runs Temporal's hosts. The first one writes what the cluster is: hosts that find nothing
// write it too, and all but one of these end.
func (c *Cluster) startTemporal(ctx context.Context) error {
	db, err := c.openDatabase("temporal", portTemporalDatabase, "temporal")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	first := c.Hosts(KindFrontend)[0]
	if err := first.Start(); err != nil {
		return err
	}
	if err := c.until(ctx, "Temporal's cluster is described", func(ctx context.Context) error {
		var n int
		err := db.QueryRowContext(ctx, "SELECT count(*) FROM cluster_metadata_info").Scan(&n)
		if err == nil && n == 0 {
			err = errors.New("it is not yet")
		}
		return err
	}); err != nil {
		return err
	}
	for _, kind := range []Kind{KindFrontend, KindHistory, KindMatching, KindTemporalWorker} {
		for _, h := range c.Hosts(kind) {
			if h == first {
				continue
			}
			if err := h.Start(); err != nil {
				return err
			}
		}
	}
	return nil
}
