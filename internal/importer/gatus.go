// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// gatus reads the configuration of Gatus 5.
func gatus() Source {
	return Source{
		Name: "gatus", Product: "Gatus", Argument: "config.yaml|DIRECTORY",
		Short: "Write the configuration of Gatus as files of a project",
		Long: "Read the configuration of Gatus 5, a file or a directory whose files Gatus merges, and write it as files of a\n" +
			"project. A variable such as ${SLACK_URL} stays one: its value is neither read nor needed. What Vigil does not have\n" +
			"is reported in comments, in a table and in IMPORT.md.",
		Example: "  vigil import gatus config.yaml -o vigil/",
		Read:    readGatus,
	}
}

// gatusImport is one import of a configuration of Gatus.
type gatusImport struct {
	*Result

	expansion expansion
	root      *members
	providers map[string]*gatusProvider
}

func readGatus(path string, o Options) (*Result, error) {
	g := &gatusImport{Result: NewResult(gatus(), o), providers: map[string]*gatusProvider{}}
	root, err := g.load(path)
	if err != nil {
		return nil, err
	}
	if root.kind != mapKind {
		return nil, fmt.Errorf("%s: is no configuration of Gatus: it has no endpoints", path)
	}
	g.root = newMembers(root, "", g.LoseSetting)
	endpoints, suites, external := g.root.list("endpoints"), g.root.list("suites"), g.root.list("external-endpoints")
	if len(endpoints)+len(suites)+len(external) == 0 {
		return nil, fmt.Errorf("%s: is no configuration of Gatus: it has no endpoints", path)
	}
	g.Read(len(endpoints), "endpoint")
	g.Read(len(suites), "suite")
	g.Read(len(external), "external endpoint")
	g.readProviders()
	for i, one := range endpoints {
		g.endpoint(one, i)
	}
	for i, one := range suites {
		g.suite(one, i)
	}
	for i, one := range external {
		g.external(one, i)
	}
	g.globalMaintenance()
	g.settings()
	return g.Result, nil
}

// settings reports what belongs to no endpoint.
func (g *gatusImport) settings() {
	for _, one := range []struct{ name, reason string }{
		{"web", "the address of Vigil's API is a setting of the server"},
		{"storage", "Vigil stores in Postgres; the history stays in Gatus"},
		{"security", "Vigil has accounts and API keys"},
		{"connectivity", "Vigil probes from several regions instead"},
		{"remote", "a Vigil shows its own checks only"},
		{"announcements", "write them as updates of a status page"},
		{"tunneling", "Vigil has no SSH tunnels; run a worker inside the network instead"},
		{"metrics", "the metrics of Vigil are a setting of the server"},
		{"concurrency", "Vigil shares its workers by itself"},
		{"disable-monitoring-lock", "Vigil shares its workers by itself"},
		{"debug", "the log level is a setting of the server"},
		{"skip-invalid-config-update", "vigil apply changes nothing when the files are wrong"},
	} {
		if g.root.take(one.name) != nil {
			g.LoseSetting(one.name, "%s", one.reason)
		}
	}
	g.root.take("ui") // changes what the dashboard shows, and nothing that is checked
	g.root.finish()
	for _, text := range g.expansion.empty {
		g.LoseSetting("${"+text+"}", "Gatus takes this for a variable that is not set, and so for an empty text; a literal $ is written $$")
	}
}

// gatusOrigin is group/name, as Gatus shows an endpoint.
func gatusOrigin(m *members, noun string, index int) string {
	group, name := m.marked("group"), m.marked("name")
	origin := oneLine(shown(name))
	if origin == "" {
		origin = fmt.Sprintf("%s %d", noun, index+1)
	}
	if group = oneLine(shown(group)); group != "" {
		return group + "/" + origin
	}
	return origin
}

// load reads a file, or all files of a directory merged as Gatus merges them. Variables are
// marks in its texts.
func (g *gatusImport) load(path string) (*value, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, pathReason(err))
	}
	if !info.IsDir() {
		return g.loadFile(path)
	}
	names, err := gatusFiles(path)
	if err != nil {
		return nil, err
	}
	merged := &value{kind: mapKind}
	for _, name := range names {
		read, err := g.loadFile(name)
		if err != nil {
			return nil, err
		}
		if read.kind == nullKind {
			continue
		}
		if read.kind != mapKind {
			return nil, fmt.Errorf("%s: must hold a map, such as endpoints: [...]", name)
		}
		if err := mergeYAML(merged, read); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return merged, nil
}

// gatusFiles returns the files of a directory that Gatus reads, in its order. A name with
// two dots, as a mounted ConfigMap has, is left out.
func gatusFiles(dir string) ([]string, error) {
	var names []string
	err := filepath.WalkDir(dir+string(filepath.Separator), func(name string, entry fs.DirEntry, err error) error {
		switch ending := filepath.Ext(name); {
		case err != nil:
			return fmt.Errorf("%s: %w", name, pathReason(err))
		case entry.IsDir() || ending != ".yaml" && ending != ".yml":
			return nil
		}
		if inside, err := filepath.Rel(dir, name); err == nil && !strings.Contains(inside, "..") {
			names = append(names, name)
		}
		return nil
	})
	slices.Sort(names)
	if err == nil && len(names) == 0 {
		err = fmt.Errorf("%s: has no *.yaml or *.yml file", dir)
	}
	return names, err
}

func (g *gatusImport) loadFile(name string) (*value, error) {
	text, err := readText(name, maxYAML)
	if err != nil {
		return nil, err
	}
	read, others, err := parseYAML(name, []byte(g.expansion.mark(string(text))))
	if err == nil && others > 0 {
		g.LoseSetting(filepath.Base(name), "has %s behind its first document, which Gatus does not read", counted(others, "document"))
	}
	return read, err
}

// pathReason returns an error of the file system without the path.
func pathReason(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}
