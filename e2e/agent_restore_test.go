// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestAgentAfterRestore kills the platform while an agent works, and starts another one from a backup that is older than
// edits, checks and results of which the agent knows. The agent goes on meanwhile. Afterwards it has the checks as they are
// in the backup, and everything that it saw since is in its slot once, also what had been stored after the backup.
func TestAgentAfterRestore(t *testing.T) {
	timingtest.Parallel(t)
	checks, lasts := 6, 3
	if full() {
		checks, lasts = 300, 60
	}
	dir, fresh := dataDir(t), dataDir(t)
	file := filepath.Join(dataDir(t), "vigil.backup")
	env := []string{"VIGIL_LISTEN=" + freeAddress(t), "VIGIL_REGIONS=eu-central-fra", "VIGIL_SIGNUP_TIER=enterprise", fastSchedule}
	p := up(t, dir, env...)
	c := client{t: t, url: p.ready.APIURL, key: p.ready.APIKey}
	site := newTarget(t)
	office := newPlace(c, "Office")
	agent := runAgent(t, p.ready.APIURL, office)
	ids, paths := make([]string, checks), make(map[string]string, checks)
	create := func(i int) string {
		path := fmt.Sprintf("/%d", i)
		var made check
		c.into(&made, http.MethodPost, "/v1/checks", httpCheck("check "+path, site.URL+path, 1, office.Key))
		return made.ID
	}
	for i := range ids {
		ids[i] = create(i)
		paths[ids[i]] = fmt.Sprintf("/%d", i)
	}
	probed := func(what string, more int, of ...string) {
		t.Helper()
		before := make(map[string]int, len(of))
		for _, path := range of {
			before[path] = site.count(path)
		}
		eventuallyWithin(t, waitLimit+time.Duration(more)*time.Second, what, func() bool {
			for path, n := range before {
				if site.count(path) < n+more {
					return false
				}
			}
			return true
		})
	}
	last := fmt.Sprintf("/%d", checks-1)
	probed("the agent probes", lasts, "/0", "/1", last)
	if printed, err := command(t, []string{"VIGIL_DATA_DIR=" + dir}, "backup", file); err != nil {
		t.Fatalf("vigil backup: %v: %s", err, printed)
	}

	// What the backup does not know: revisions, a check, that one was deleted, and results.
	for n := range 3 {
		c.into(nil, http.MethodPut, "/v1/checks/"+ids[0], object{"config": object{"url": fmt.Sprintf("%s/moved-%d", site.URL, n)}})
	}
	c.into(nil, http.MethodDelete, "/v1/checks/"+ids[1], nil)
	unknown := create(checks)
	probed("the agent has the changes", lasts, "/moved-2", fmt.Sprintf("/%d", checks), last)
	p.kill()
	probed("the agent goes on", lasts, last, "/moved-2")
	if printed, err := command(t, []string{"VIGIL_DATA_DIR=" + fresh}, "restore", file); err != nil {
		t.Fatalf("vigil restore: %v: %s", err, printed)
	}
	said := len(agent.stderr.String())
	p = up(t, fresh, env...)
	c.url = p.ready.APIURL
	began := time.Now()
	eventually(t, "the agent has sent what it could not send", func() bool { return sentAll(c, office, began) })
	t.Logf("the agent has sent what it could not send %v after the restored platform was ready", time.Since(began).Round(time.Millisecond))
	probed("the agent has the checks of the backup", lasts, "/0", "/1", last)
	gone := site.count(fmt.Sprintf("/%d", checks)) + site.count("/moved-2")
	probed("it goes on with them", lasts, "/0", "/1", last)
	if more := site.count(fmt.Sprintf("/%d", checks)) + site.count("/moved-2") - gone; more != 0 {
		t.Errorf("%d probes of what the backup does not have", more)
	}
	if a := c.do(http.MethodGet, "/v1/checks/"+unknown, nil); a.Status != http.StatusNotFound {
		t.Errorf("a check that is not in the backup is answered with %d", a.Status)
	}
	if _, err := agent.interrupt(); err != nil {
		t.Error(err)
	}
	edited := ids[0]
	eachOnce(t, c, site, without(paths, edited), waitLimit)
	several := site.count("/0") + site.count("/moved-0") + site.count("/moved-1") + site.count("/moved-2")
	var of struct {
		Total int `json:"total_checks"`
	}
	eventually(t, "the check that was edited has its results", func() bool {
		c.into(&of, http.MethodGet, "/v1/checks/"+edited+"/uptime?period=24h", nil)
		return of.Total >= several
	})
	if of.Total != several {
		t.Errorf("%d probes of the check that was edited and %d results", several, of.Total)
	}
	text := agent.stderr.String()
	text = text[min(said, len(text)):]
	if n := strings.Count(text, "level=WARN") + strings.Count(text, "level=ERROR"); n > 10 {
		t.Errorf("the agent warns %d times after the restore:\n%s", n, text)
	}
}

func without(paths map[string]string, id string) map[string]string {
	left := make(map[string]string, len(paths))
	for other, path := range paths {
		if other != id {
			left[other] = path
		}
	}
	return left
}
