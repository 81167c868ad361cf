// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// appliedFile is what apply.json of a data directory says.
type appliedFile struct {
	State     string     `json:"state"`
	Project   string     `json:"project"`
	Errors    []string   `json:"errors"`
	AppliedAt *time.Time `json:"applied_at"`
	LookedAt  time.Time  `json:"looked_at"`
}

func appliedIn(t *testing.T, dir string) (applied appliedFile) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "apply.json"))
	if err == nil {
		err = json.Unmarshal(text, &applied)
	}
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return applied
}

// names are the names of the checks.
func (c client) names() []string {
	c.t.Helper()
	var checks []struct {
		Name string `json:"name"`
	}
	c.into(&checks, http.MethodGet, "/v1/checks", nil)
	var all []string
	for _, one := range checks {
		all = append(all, one.Name)
	}
	slices.Sort(all)
	return all
}

// mountedFiles are files as Kubernetes mounts a ConfigMap: links to files below a link that
// is replaced as a whole.
type mountedFiles struct {
	t       *testing.T
	dir     string
	version int
}

func (m *mountedFiles) set(text string) {
	m.t.Helper()
	m.version++
	version := filepath.Join(m.dir, "..version"+time.Now().Format("150405.000000"))
	draft := filepath.Join(m.dir, "..draft")
	steps := []error{
		os.Mkdir(version, 0o755), os.WriteFile(filepath.Join(version, "shop.yaml"), []byte(text), 0o600),
		os.Symlink(filepath.Base(version), draft), os.Rename(draft, filepath.Join(m.dir, "..data")),
	}
	if m.version == 1 {
		steps = append(steps, os.Symlink(filepath.Join("..data", "shop.yaml"), filepath.Join(m.dir, "shop.yaml")))
	}
	for _, err := range steps {
		if err != nil {
			m.t.Fatal(err)
		}
	}
}

// TestAppliesFiles lives through what happens to the files of `vigil up --apply`.
func TestAppliesFiles(t *testing.T) {
	timingtest.Parallel(t)
	dir := dataDir(t)
	site := newService(t)
	files := &mountedFiles{t: t, dir: t.TempDir()}
	document := func(checks ...string) string {
		text := "version: 1\nproject: shop\ndefaults:\n  check: {interval: 60s, regions: [eu-central-fra]}\nchecks:\n"
		for _, name := range checks {
			text += "  " + strings.ToLower(name) + ": {name: " + name + ", type: http, config: {url: \"" + site.URL + "/\"}}\n"
		}
		return text
	}
	files.set(document("Home"))
	p := up(t, dir, "VIGIL_APPLY="+files.dir, "VIGIL_REGIONS=eu-central-fra")
	c := client{t: t, url: p.ready.APIURL, key: p.ready.APIKey}
	has := func(want ...string) {
		t.Helper()
		eventually(t, "the checks are "+strings.Join(want, " "), func() bool { return slices.Equal(c.names(), want) })
	}
	state := func(want string) (applied appliedFile) {
		t.Helper()
		eventually(t, "the files are "+want, func() bool {
			applied = appliedIn(t, dir)
			return applied.State == want
		})
		return applied
	}
	has("Home")
	if applied := state("applied"); applied.Project != "shop" || applied.AppliedAt == nil {
		t.Errorf("at the start apply.json is %+v", applied)
	}

	files.set(document("Home", "Search"))
	has("Home", "Search")

	// What only the server finds has a place in the files as well.
	files.set(document("Home", "Search", "Cart") +
		"  wrong: {name: Wrong, type: http, interval: 60s, config: {url: \"ftp://shop.example\"}}\n")
	invalid := state("invalid")
	if len(invalid.Errors) != 1 || !strings.Contains(invalid.Errors[0], "shop.yaml:9:") || !strings.Contains(invalid.Errors[0], "config.url") {
		t.Errorf("the mistake is shown as %q", invalid.Errors)
	}
	has("Home", "Search")
	if log := p.stderr.String(); !strings.Contains(log, "shop.yaml:9:") || !strings.Contains(log, "the definitions are not applied") {
		t.Errorf("the log does not name the mistake")
	}

	files.set("checks: [\n")
	eventually(t, "the file that is no YAML is reported", func() bool {
		found := appliedIn(t, dir)
		return found.State == "invalid" && len(found.Errors) > 0 &&
			strings.Contains(found.Errors[0], "shop.yaml:") && found.Errors[0] != invalid.Errors[0]
	})

	files.set(document("Home", "Search", "Cart"))
	has("Cart", "Home", "Search")
	state("applied")

	// A file that is gone deletes nothing; nor does a check that is in no file any more.
	if err := os.Remove(filepath.Join(files.dir, "shop.yaml")); err != nil {
		t.Fatal(err)
	}
	if gone := state("invalid"); len(gone.Errors) != 1 || !strings.Contains(gone.Errors[0], "no *.yaml") {
		t.Errorf("without a file the mistake is %q", gone.Errors)
	}
	if err := os.Symlink(filepath.Join("..data", "shop.yaml"), filepath.Join(files.dir, "shop.yaml")); err != nil {
		t.Fatal(err)
	}
	files.set(document("Home"))
	state("applied")
	has("Cart", "Home", "Search")

	p.stop()
	if _, err := os.Stat(filepath.Join(dir, "apply.json")); !os.IsNotExist(err) {
		t.Errorf("after a clean stop apply.json is still there: %v", err)
	}
}

// TestAppliesFilesInTheRoleOfTheAPI: `vigil api --apply` does so without a key of anyone.
func TestAppliesFilesInTheRoleOfTheAPI(t *testing.T) {
	timingtest.Parallel(t)
	file := filepath.Join(t.TempDir(), "shop.yaml")
	text := "version: 1\nproject: shop\nchecks:\n  home: {name: Home, type: http, interval: 60s, config: {url: \"https://shop.example/\"}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	k := newCluster(t, "VIGIL_APPLY="+file)
	eventually(t, "the check is there", func() bool { return k.number("SELECT count(*) FROM checks WHERE name = $1", "Home") == 1 })
}
