// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"context"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
)

// service is what a test reads of a service in docker/cluster.yaml.
type service struct {
	Profiles []string `yaml:"profiles"`
	Command  []string `yaml:"command"`
	Networks map[string]struct {
		Address string `yaml:"ipv4_address"`
	} `yaml:"networks"`
}

// containers reads docker/cluster.yaml: the services that are hosts, and the subnet of all.
func containers(t *testing.T) (map[string]service, netip.Prefix) {
	t.Helper()
	raw, err := os.ReadFile("../../docker/cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]service `yaml:"services"`
	}
	if err := yaml.UnmarshalWithOptions(raw, &file, yaml.AllowDuplicateMapKey()); err != nil {
		t.Fatal(err)
	}
	files := file.Services["files"].Command
	if len(files) != 3 || files[0] != "files" {
		t.Fatalf("the service files runs %q", files)
	}
	subnet, err := ParseSubnet(files[2])
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"files", "stores", "platform"} {
		if file.Services[name].Profiles != nil || file.Services[name].Command[1] != "/cluster" {
			t.Errorf("%s is %+v", name, file.Services[name])
		}
		delete(file.Services, name)
	}
	return file.Services, subnet
}

// TestContainers holds that docker/cluster.yaml has the hosts of the plan at their addresses: with the profile all, and
// without it those of the smallest cluster.
func TestContainers(t *testing.T) {
	t.Parallel()
	services, subnet := containers(t)
	all := DefaultSizes()
	all.Agents = 0
	for profile, sizes := range map[string]Sizes{"second": all, "": SmallSizes()} {
		want := make(map[string]string)
		for _, h := range plan(sizes, subnet.Addr()) {
			want[h.Name] = h.Address
		}
		for name, one := range services {
			if len(one.Profiles) > 0 && !slices.Contains(one.Profiles, profile) {
				continue
			}
			if want[name] == "" || one.Networks["hosts"].Address != want[name] {
				t.Errorf("with the profile %q %s is at %s, want %q", profile, name, one.Networks["hosts"].Address, want[name])
			}
			if strings.Join(one.Command, " ") != "host /cluster "+name {
				t.Errorf("%s runs %q", name, one.Command)
			}
			delete(want, name)
		}
		if len(want) > 0 {
			t.Errorf("with the profile %q there is no %v", profile, want)
		}
	}
}

// TestWriteFiles holds that each host of docker/cluster.yaml has a program, whose files are there, and that files are written once.
func TestWriteFiles(t *testing.T) {
	t.Parallel()
	_, subnet := containers(t)
	options := Options{
		Sizes: DefaultSizes(), Dir: t.TempDir(), Vigil: "/bin/true", TemporalServer: "/bin/true", TemporalSQLTool: "/bin/true",
		TemporalConfig: "/etc/temporal", PublicURL: "http://127.0.0.1:8080",
	}
	options.Sizes.Agents = 0
	write := func(options Options) error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		return WriteFiles(ctx, options, subnet)
	}
	if _, err := findPrograms(options); err != nil {
		t.Skip(err)
	}
	if err := write(options); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(savedPath(options.Dir))
	if err != nil {
		t.Fatal(err)
	}
	var file saved
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	for _, h := range plan(options.Sizes, subnet.Addr()) {
		one := file.Hosts[h.Name]
		if len(one.Argv) == 0 {
			t.Errorf("%s runs nothing", h.Name)
		}
		for _, text := range slices.Concat(one.Argv, one.Env) {
			for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '=' || r == '&' }) {
				made := strings.HasPrefix(part, options.Dir) && filepath.Ext(part) != "" && !strings.Contains(part, "vigil-data")
				if _, err := os.Stat(part); made && err != nil {
					t.Errorf("%s has %s: %v", h.Name, part, err)
				}
			}
		}
		if env := strings.Join(one.Env, "\n"); h.Kind == KindAPI && !strings.Contains(env, "VIGIL_PUBLIC_URL=http://127.0.0.1:8080\n") {
			t.Errorf("the public address of %s is not that of the machine", h.Name)
		}
	}
	if err := write(options); err != nil {
		t.Errorf("a second time: %v", err)
	}
	if again, err := os.ReadFile(savedPath(options.Dir)); err != nil || string(again) != string(raw) {
		t.Errorf("the files were written again, %v", err)
	}
	options.Sizes = SmallSizes()
	if err := write(options); err == nil || !strings.Contains(err.Error(), "the files of another cluster") {
		t.Errorf("for other sizes: %v", err)
	}
	if err := Become(options.Dir, "none"); err == nil || !strings.Contains(err.Error(), `no host "none"`) {
		t.Errorf("a host that there is not: %v", err)
	}
}
