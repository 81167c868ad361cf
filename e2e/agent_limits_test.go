// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// TestAgentRevoked gives a location another token while an agent of it works: five seconds later the agent probes nothing, gets
// no definition, and nothing that it sends is stored. With the new token in its file it goes on.
func TestAgentRevoked(t *testing.T) {
	timingtest.Parallel(t)
	p, c := shared(t)
	site := newTarget(t)
	office := newPlace(c, "Office")
	var made, other check
	c.into(&made, http.MethodPost, "/v1/checks", httpCheck("intranet", site.URL+"/", 1, office.Key))
	file := filepath.Join(t.TempDir(), "token")
	use := func(token string) {
		if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	use(office.Token)
	agent := launchCommand(t, nil, binary, "agent", "--url", p.ready.APIURL, "--token-file", file, "--data-dir", t.TempDir(),
		"--allow", "127.0.0.0/8", "--canaries", "off")
	eventually(t, "it is probed", func() bool { return site.count("/") >= 3 })
	var rotated place
	c.into(&rotated, http.MethodPost, "/v1/locations/"+office.ID+"/rotate-token", nil)
	at := time.Now()
	if rotated.Token == "" || rotated.Token == office.Token {
		t.Fatalf("rotated %+v", rotated)
	}
	wait(t, "the former token is refused", time.Until(at.Add(5*time.Second)))
	count := site.count("/")
	c.into(nil, http.MethodPut, "/v1/checks/"+made.ID, object{"config": object{"url": site.URL + "/moved"}})
	c.into(&other, http.MethodPost, "/v1/checks", httpCheck("later", site.URL+"/later", 1, office.Key))
	wait(t, "nothing to come", 5*time.Second)
	if n := site.count("/") - count; n != 0 {
		t.Errorf("%d probes five seconds after the token was rotated", n)
	}
	if n := site.count("/moved") + site.count("/later"); n != 0 {
		t.Errorf("%d probes of definitions that are newer than the token", n)
	}
	if n := strings.Count(agent.stderr.String(), "the token is not valid"); n != 1 {
		t.Errorf("the agent says %d times that the token is not valid:\n%s", n, agent.stderr)
	}
	use(rotated.Token)
	eventually(t, "it goes on with the new token", func() bool { return site.count("/moved") >= 2 && site.count("/later") >= 2 })
	if _, err := agent.interrupt(); err != nil {
		t.Error(err)
	}
	eachOnce(t, c, site, map[string]string{other.ID: "/later"}, waitLimit)
}

// TestAgentSpoolFull cuts an agent off whose spool is small: the oldest calm results give way, people see how many, and all
// others are in their slots once.
func TestAgentSpoolFull(t *testing.T) {
	timingtest.Parallel(t)
	checks, outage := 150, 24*time.Second
	if full() {
		checks, outage = 500, 2*time.Minute
	}
	p, c := shared(t)
	site := newTarget(t)
	site.says.Store(new(strings.Repeat("a page that says at length what is wrong. ", 500)))
	office := newPlace(c, "Office")
	paths := make(map[string]string, checks)
	for i := range checks {
		at := fmt.Sprintf("/%d", i)
		var made check
		c.into(&made, http.MethodPost, "/v1/checks", httpCheck("check "+at, site.URL+at, 1, office.Key))
		paths[made.ID] = at
	}
	line := newWire(t, p.ready.APIURL)
	const bound = 4 << 20 // the least
	dir := t.TempDir()
	agent := runAgent(t, line.url, office, "--spool-bytes", fmt.Sprint(bound), "--data-dir", dir)
	eventually(t, "each check is probed", func() bool {
		for _, at := range paths {
			if site.count(at) < 2 {
				return false
			}
		}
		return true
	})
	line.set(true)
	for range 2 { // the first failures have evidence, which is large
		wait(t, "the line is cut", outage/4)
		site.broken.Store(true)
		wait(t, "the line is cut", outage/4)
		site.broken.Store(false)
	}
	// A file that is removed and one that grows while the others are looked at would both count.
	if err := agent.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var size int64
	files, err := filepath.Glob(filepath.Join(dir, "spool", "*"))
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			size += info.Size()
		}
	}
	if err := agent.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err != nil || size > bound+64 || size < bound/2 {
		t.Errorf("the spool has %d bytes in %d files, of %d that it may have (%v)", size, len(files), bound, err)
	}
	line.set(false)
	mended := time.Now()
	eventuallyWithin(t, waitLimit+outage, "the agent has sent what it could not send", func() bool { return sentAll(c, office, mended) })
	var seen struct {
		Agents []struct{ Spool struct{ Dropped int } }
	}
	c.into(&seen, http.MethodGet, "/v1/locations/"+office.ID, nil)
	if _, err := agent.interrupt(); err != nil {
		t.Error(err)
	}
	probes, results := 0, 0
	for _, at := range paths {
		probes += site.count(at)
	}
	dropped := seen.Agents[0].Spool.Dropped
	eventuallyWithin(t, waitLimit+outage, "every probe is a result, or gave way", func() bool {
		results = 0
		for id := range paths {
			var of struct {
				Total int `json:"total_checks"`
			}
			c.into(&of, http.MethodGet, "/v1/checks/"+id+"/uptime?period=24h", nil)
			results += of.Total
		}
		return results+dropped >= probes
	})
	t.Logf("%d probes, %d results, %d gave way", probes, results, dropped)
	// A report that was under way when the line was cut may be stored, and give way as well.
	if twice := results + dropped - probes; dropped == 0 || results > probes || twice < 0 || twice > 500 {
		t.Errorf("%d probes, %d results, and %d are said to have given way", probes, results, dropped)
	}
}
