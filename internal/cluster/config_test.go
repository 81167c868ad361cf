// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	_ "go.temporal.io/server/chasm/lib/activity" // its settings
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"

	"github.com/vigil-monitor/vigil/internal/pgbin"
)

// TestTemporalConfiguration reads the files of temporal-config as the server does.
func TestTemporalConfiguration(t *testing.T) { //nolint:paralleltest // it sets variables
	for name, value := range map[string]string{
		"BIND_ON_IP": "10.0.0.7", "POSTGRES_ADDRESS": "10.0.0.2:5433", "TEMPORAL_TLS_DIR": "/etc/temporal/tls",
		"TEMPORAL_JWKS": "/etc/temporal/jwks.json", "TEMPORAL_DYNAMIC_CONFIG": "/etc/temporal/dynamic.yaml",
		"PROMETHEUS_ENDPOINT": "10.0.0.7:9090",
	} {
		t.Setenv(name, value)
	}
	got, err := config.Load(config.WithConfigFile("../../temporal-config/cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	history, matching := got.Services["history"].RPC, got.Services["matching"].RPC
	client := history.ClientConnectionConfig.GetKeepAliveClientParameters()
	server := history.KeepAliveServerConfig.GetKeepAliveServerParameters()
	store, visibility := got.Persistence.DataStores["default"].SQL, got.Persistence.DataStores["visibility"].SQL
	frontend, internode := got.Global.TLS.Frontend, got.Global.TLS.Internode
	for what, holds := range map[string]bool{
		"512 shards":                 got.Persistence.NumHistoryShards == 512,
		"the plugin for Postgres 12": store.PluginName == "postgres12_pgx" && visibility.PluginName == "postgres12_pgx",
		"two databases":              store.DatabaseName == "temporal" && visibility.DatabaseName == "temporal_visibility",
		"the address of Postgres":    store.ConnectAddr == "10.0.0.2:5433" && visibility.ConnectAddr == "10.0.0.2:5433",
		"certificates for Postgres":  store.TLS.Enabled && visibility.TLS.CertFile == "/etc/temporal/tls/postgres.pem",
		"a verified Postgres":        store.TLS.EnableHostVerification && visibility.TLS.EnableHostVerification,
		"mutual TLS":                 frontend.Server.RequireClientAuth && internode.Server.RequireClientAuth,
		"verified servers":           !internode.Client.DisableHostVerification && internode.Client.ServerName == "temporal-internode",
		"an authorizer":              got.Global.Authorization.Authorizer == "default" && got.Global.Authorization.ClaimMapper == "default",
		"keys of a file":             got.Global.Authorization.JWTKeyProvider.KeySourceURIs[0] == "file:///etc/temporal/jwks.json",
		"the address of the host":    got.Services["history"].RPC.BindOnIP == "10.0.0.7",
		"calls that end with their connection": client.Time == 10*time.Second && client.Timeout == 3*time.Second &&
			reflect.DeepEqual(client, matching.ClientConnectionConfig.GetKeepAliveClientParameters()),
		"connections that end with their client": server.Time == 2*time.Second && server.Timeout == 3*time.Second &&
			reflect.DeepEqual(server, matching.KeepAliveServerConfig.GetKeepAliveServerParameters()),
		"servers that take such calls": history.KeepAliveServerConfig.GetKeepAliveEnforcementPolicy().MinTime < client.Time &&
			history.KeepAliveServerConfig.GetKeepAliveEnforcementPolicy().PermitWithoutStream && client.PermitWithoutStream,
		"the dynamic settings": got.DynamicConfigClient.Filepath == "/etc/temporal/dynamic.yaml",
		"metrics":              got.Global.Metrics.Prometheus.ListenAddress == "10.0.0.7:9090",
	} {
		if !holds {
			t.Errorf("cluster.yaml does not have %s", what)
		}
	}
	raw, err := os.ReadFile("../../temporal-config/dynamic.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if read := dynamicconfig.LoadYamlFile(raw); len(read.Errors)+len(read.Warnings) > 0 {
		t.Errorf("dynamic.yaml: %v %v", read.Errors, read.Warnings)
	}
}

// TestServerModule holds that a cluster runs the version of Temporal's server that vigil embeds, and is upgraded to it from the
// minor version before.
func TestServerModule(t *testing.T) {
	t.Parallel()
	version := func(path string) string {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return regexp.MustCompile(`go\.temporal\.io/server v\S+`).FindString(string(raw))
	}
	ours, cluster := version("../../go.mod"), version("../../temporal-config/server/go.mod")
	if ours == "" || ours != cluster {
		t.Errorf("vigil has %q, temporal-config/server %q", ours, cluster)
	}
	var major, minor, before int
	if _, err := fmt.Sscanf(ours, "go.temporal.io/server v%d.%d.", &major, &minor); err != nil {
		t.Fatal(err)
	}
	previous := version("../../temporal-config/previous/go.mod")
	if _, err := fmt.Sscanf(previous, "go.temporal.io/server v%d.%d.", &major, &before); err != nil || before != minor-1 {
		t.Errorf("temporal-config/previous has %q, want the minor version before that of %q", previous, ours)
	}
}

// prepared is a cluster that is ready to start.
func prepared(t *testing.T) *Cluster {
	t.Helper()
	found, err := findPrograms(Options{Vigil: "/bin/true", TemporalServer: "/bin/true", TemporalSQLTool: "/bin/true"})
	if err != nil {
		t.Skip(err)
	}
	installed, err := pgbin.Find(t.Context(), nil, 0)
	if err != nil {
		t.Skip(err)
	}
	c := &Cluster{
		options: Options{Sizes: DefaultSizes(), Dir: t.TempDir(), Vigil: "/bin/true", TemporalConfig: "../../temporal-config"},
		network: loopback{}, programs: found,
	}
	if c.authority, err = newAuthority(time.Now, shortLife); err != nil {
		t.Fatal(err)
	}
	if err := c.prepare(installed); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestProgramsTakeTheirConfigurations asks haproxy and Patroni themselves.
func TestProgramsTakeTheirConfigurations(t *testing.T) {
	t.Parallel()
	c := prepared(t)
	out, err := runCommand(t.Context(), c.programs.haproxy, "-c", "-f", filepath.Join(c.hostDir(c.proxy()), "haproxy.cfg"))
	if err != nil || strings.Contains(out, "WARNING") {
		t.Errorf("haproxy says: %v\n%s", err, out)
	}
	h := c.Hosts(KindVigilPostgres)[0]
	out, err = runCommand(t.Context(), c.programs.patroni, "--validate-config", filepath.Join(c.hostDir(h), "patroni.yaml"))
	for line := range strings.Lines(out) { // it also wants that etcd runs, and that no cluster does
		if !strings.Contains(line, "is not reachable") && !strings.Contains(line, "is already in use") && strings.TrimSpace(line) != "" {
			t.Errorf("Patroni says: %s (%v)", line, err)
		}
	}
}

func runCommand(ctx context.Context, argv ...string) (string, error) {
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	return string(out), err
}

// TestPlan holds that hosts have names and addresses of their own, in every size.
func TestPlan(t *testing.T) {
	t.Parallel()
	sizes := Sizes{
		Etcd: 3, Postgres: 2, Frontend: 9, History: 9, Matching: 9, TemporalWorker: 9, API: 9, Control: 9,
		Regions: 3, WorkersOfRegion: 9, Agents: 9,
	}
	if err := sizes.Validate(); err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]string)
	for _, h := range plan(sizes, netip.MustParseAddr("127.0.1.0")) {
		for _, key := range []string{h.Name, h.Address} {
			if seen[key] != "" {
				t.Errorf("%s is that of %s and of %s", key, seen[key], h.Name)
			}
			seen[key] = h.Name
		}
	}
	sizes.Regions = 4
	if err := sizes.Validate(); err == nil || !strings.Contains(err.Error(), "1 to 3 of regions") {
		t.Errorf("four regions: %v", err)
	}
}
