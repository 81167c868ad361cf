// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/vigil-monitor/vigil/internal/pgbin"
)

// elsewhere is a network that others make, such as that of containers.
type elsewhere struct{ subnet netip.Prefix }

func (e elsewhere) base() netip.Prefix   { return e.subnet }
func (elsewhere) join(*Host) error       { return nil }
func (elsewhere) prefix(*Host) []string  { return nil }
func (elsewhere) cut(*Host, Way) error   { return errNoCut }
func (elsewhere) mend(*Host) error       { return nil }
func (elsewhere) lossy(*Host, int) error { return errNoCut }
func (elsewhere) close()                 {}

// containerLife is how long certificates and tokens of hosts elsewhere are valid.
const containerLife = 365 * 24 * time.Hour

// saved is the file of a cluster whose hosts are started elsewhere.
type saved struct {
	Subnet          string             `json:"subnet"`
	Sizes           Sizes              `json:"sizes"`
	TemporalSQLTool string             `json:"temporal_sql_tool"`
	Vigil           string             `json:"vigil"`
	Operator        []string           `json:"operator"` // settings
	Hosts           map[string]command `json:"hosts"`
}

// command is what one host runs.
type command struct {
	Argv []string `json:"argv"`
	Env  []string `json:"env"`
	// User and Group are numbers of the account that it runs as; 0 is root.
	User  int    `json:"user"`
	Group int    `json:"group"`
	Dir   string `json:"dir"`
}

func savedPath(dir string) string { return filepath.Join(dir, "cluster.json") }

// WriteFiles writes all that the hosts of a cluster need into options.Dir, for hosts that are started elsewhere at the
// addresses of the plan in a subnet, a /24: certificates and tokens of a year, and configurations. It changes nothing where
// that was done before, and returns an error where it was for other sizes.
func WriteFiles(ctx context.Context, options Options, subnet netip.Prefix) error {
	if err := options.Sizes.Validate(); err != nil {
		return err
	}
	if there, err := readSaved(options.Dir); err == nil {
		if there.Sizes != options.Sizes || there.Subnet != subnet.String() {
			return fmt.Errorf("%s has the files of another cluster (%+v in %s): remove its volume first, with all that it has stored",
				options.Dir, there.Sizes, there.Subnet)
		}
		return nil
	}
	c := &Cluster{options: options, network: elsewhere{subnet}, log: slog.New(slog.DiscardHandler)}
	installed, err := pgbin.Find(ctx, nil, 0)
	if err != nil {
		return err
	}
	if c.programs, err = findPrograms(options); err != nil {
		return err
	}
	if c.postgres, err = postgresAccount(); err != nil {
		return err
	}
	if c.authority, err = newAuthority(time.Now, containerLife); err != nil {
		return err
	}
	if err := os.MkdirAll(c.path("logs"), 0o711); err != nil { //nolint:gosec // the user of Postgres enters what is below
		return err
	}
	if err := os.Chmod(options.Dir, 0o711); err != nil { //nolint:gosec // as above
		return err
	}
	if err := c.prepare(installed); err != nil {
		return err
	}
	return c.save()
}

// save writes the file of the cluster, which is the last one.
func (c *Cluster) save() error {
	file := saved{
		Subnet: c.network.base().String(), Sizes: c.options.Sizes, TemporalSQLTool: c.programs.sqlTool, Vigil: c.options.Vigil,
		Operator: c.operator, Hosts: make(map[string]command),
	}
	for _, h := range c.All() {
		if len(h.programs) != 1 {
			return fmt.Errorf("%s runs %d programs, want one", h.Name, len(h.programs))
		}
		p := h.programs[0]
		one := command{Argv: p.argv, Env: p.env, Dir: p.dir}
		if p.user != nil {
			one.User, one.Group = p.user.uid, p.user.gid
		}
		file.Hosts[h.Name] = one
	}
	raw, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return err
	}
	made := savedPath(c.options.Dir) + ".new"
	if err := os.WriteFile(made, raw, 0o600); err != nil {
		return err
	}
	return os.Rename(made, savedPath(c.options.Dir))
}

func readSaved(dir string) (file saved, err error) {
	raw, err := os.ReadFile(savedPath(dir))
	if err != nil {
		return file, err
	}
	return file, json.Unmarshal(raw, &file)
}

// Become replaces this process by the program of a host whose files are in a directory. With arguments it is the same
// program with these and the settings of the host, such as `vigil doctor`. It returns where it cannot.
func Become(dir, host string, args ...string) error {
	file, err := readSaved(dir)
	if err != nil {
		return err
	}
	one, ok := file.Hosts[host]
	if !ok {
		return fmt.Errorf("%s has no host %q", savedPath(dir), host)
	}
	argv := one.Argv
	if len(args) > 0 {
		argv = append([]string{argv[0]}, args...)
	}
	if one.User != 0 {
		account := osAccount{one.User, one.Group}
		argv = append(account.prefix(), argv...)
	}
	if one.Dir != "" {
		if err := os.Chdir(one.Dir); err != nil {
			return err
		}
	}
	program, err := find(argv[0])
	if err != nil {
		return err
	}
	return syscall.Exec(program, argv, append(environment(), one.Env...)) //nolint:gosec // the programs of the cluster
}

// open is a cluster whose hosts were started elsewhere.
func open(dir string, log *slog.Logger) (*Cluster, error) {
	file, err := readSaved(dir)
	if err != nil {
		return nil, err
	}
	subnet, err := netip.ParsePrefix(file.Subnet)
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		options: Options{Dir: dir, Sizes: file.Sizes, Vigil: file.Vigil}, network: elsewhere{subnet}, log: log, operator: file.Operator,
		programs: programs{sqlTool: file.TemporalSQLTool},
	}
	c.setHosts(plan(file.Sizes, subnet.Addr()))
	return c, nil
}

// PrepareStores makes the users, databases and Temporal's schema of a cluster whose Postgres were started elsewhere, as far as
// they are missing.
func PrepareStores(ctx context.Context, dir string, log *slog.Logger) error {
	c, err := open(dir, log)
	if err != nil {
		return err
	}
	if err := errors.Join(
		c.prepareDatabases(ctx, portTemporalDatabase, "temporal", "temporal", "temporal_visibility"),
		c.prepareDatabases(ctx, portVigilDatabase, "vigil", "vigil"),
	); err != nil {
		return err
	}
	return c.prepareTemporal(ctx)
}

// PreparePlatform makes the namespace, the schema of Vigil and the first API key of a cluster whose Temporal was started
// elsewhere. The key is in the file "key" of the directory, and made once.
func PreparePlatform(ctx context.Context, dir string, log *slog.Logger) error {
	c, err := open(dir, log)
	if err != nil {
		return err
	}
	if _, err := os.Stat(c.path("key")); err == nil {
		return c.prepareNamespace(ctx)
	}
	if err := c.prepareVigil(ctx); err != nil {
		return err
	}
	return os.WriteFile(c.path("key"), []byte(c.key+"\n"), 0o600)
}

// ParseSubnet reads the network of a cluster, which has room for the plan.
func ParseSubnet(text string) (netip.Prefix, error) {
	subnet, err := netip.ParsePrefix(text)
	if err == nil && (subnet.Bits() != 24 || !subnet.Addr().Is4() || subnet.Masked() != subnet) {
		err = errors.New("it is not the first address of a /24, such as 10.234.0.0/24")
	}
	if err != nil {
		return subnet, fmt.Errorf("the subnet %s: %w", strconv.Quote(text), err)
	}
	return subnet, nil
}
