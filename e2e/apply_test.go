// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// projectOf is an apply of 1,000 checks with a rule each. They are disabled: what is
// measured here is rows.
func projectOf(project string) object {
	checks := object{}
	for i := range 1000 {
		checks[fmt.Sprintf("check-%d", i)] = object{
			"type": "https", "interval": "1h", "enabled": false, "config": object{"url": fmt.Sprintf("https://shop.example.com/%d", i)},
			"rules": object{"down": object{"condition": object{"failure_threshold": 2}, "channels": []any{"hook"}}},
		}
	}
	return object{"project": project, "document": object{
		"version":  1,
		"checks":   checks,
		"channels": object{"hook": object{"type": "webhook", "config": object{"url": "https://hooks.example.com/x"}}},
	}}
}

// TestApplyIsAllOrNothing kills the platform with SIGKILL in the middle of an apply of 1,000
// checks, and right after one was committed.
func TestApplyIsAllOrNothing(t *testing.T) {
	timingtest.Parallel(t)
	dir, dsn := dataDir(t), database(t)
	db := openDatabase(t, dsn)
	count := func(query string, args ...any) (n int) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	rows := func(project string) [3]int {
		t.Helper()
		var found [3]int
		for i, table := range []string{"channels", "checks", "alert_rules"} {
			found[i] = count("SELECT count(*) FROM "+table+" WHERE managed_project = $1", project)
		}
		return found
	}
	begin := func(key string) (*process, client) {
		p := up(t, dir, "DATABASE_URL="+dsn, "VIGIL_REGIONS="+clusterRegion)
		if key == "" {
			key = p.ready.APIKey
		}
		return p, client{t: t, url: p.ready.APIURL, key: key}
	}
	p, c := begin("")
	key := c.key

	// The rules are the last rows of this project. While they cannot be written, the apply
	// waits with everything else done.
	lock, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.ExecContext(t.Context(), "LOCK TABLE alert_rules IN SHARE MODE"); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := c.try(http.MethodPost, "/v1/apply", projectOf("middle"))
		ended <- err
	}()
	eventually(t, "the apply waits for the rules", func() bool {
		return count(`SELECT count(*) FROM pg_locks WHERE relation = 'alert_rules'::regclass AND NOT granted AND mode = 'RowExclusiveLock'`) > 0
	})
	p.kill()
	if err := <-ended; err == nil {
		t.Error("the apply has an answer although the platform was killed")
	}
	if err := lock.Rollback(); err != nil {
		t.Fatal(err)
	}
	p, c = begin(key)
	if got := rows("middle"); got != [3]int{} {
		t.Errorf("an apply that was killed in the middle has left %v channels, checks and rules", got)
	}
	c.into(nil, http.MethodPost, "/v1/apply", projectOf("middle"))
	if got, want := rows("middle"), [3]int{1, 1000, 1000}; got != want {
		t.Errorf("the repeated apply has made %v channels, checks and rules, want %v", got, want)
	}

	// The rows of a transaction appear at once: as soon as one is there, it is committed.
	go func() {
		_, err := c.try(http.MethodPost, "/v1/apply", projectOf("end"))
		ended <- err
	}()
	eventually(t, "the apply is committed", func() bool {
		return count("SELECT count(*) FROM checks WHERE managed_project = 'end'") > 0
	})
	p.kill()
	if err := <-ended; err != nil {
		t.Logf("the apply has no answer: %v", err) // the kill was faster
	}
	_, c = begin(key)
	if got, want := rows("end"), [3]int{1, 1000, 1000}; got != want {
		t.Errorf("an apply that was committed has made %v channels, checks and rules, want %v", got, want)
	}
	var again struct {
		Actions []struct{ Action string }
	}
	c.into(&again, http.MethodPost, "/v1/apply", projectOf("end"))
	for _, action := range again.Actions {
		if action.Action != "none" {
			t.Errorf("the repeated apply does %s", action.Action)
			break
		}
	}
	if len(again.Actions) != 2001 {
		t.Errorf("the answer has %d actions, want 2001", len(again.Actions))
	}
}
