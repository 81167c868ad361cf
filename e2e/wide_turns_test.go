// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
	"github.com/vigil-monitor/vigil/workflows"
)

// wideTurns are the settings under which the turns of a loop cover as many slots as fit
// into the window: there are tokens for twenty turns.
func wideTurns(window time.Duration) []string {
	return []string{"VIGIL_QUIET_WINDOW=" + window.String(), "VIGIL_TURN_RATE=0.001"}
}

// turnsOf is what the API says of the turns of a check.
type turnsOf struct {
	State  string `json:"state"`
	Source string `json:"source"`
	Streak int    `json:"streak"`
	Slots  int    `json:"turn_slots"`
	Reason string `json:"turn_reason"`
}

// TestWideTurns changes checks whose turns cover half an hour: each change must act with
// the next slot, not with the end of the turn.
func TestWideTurns(t *testing.T) {
	timingtest.Parallel(t)
	const (
		checks, edited, disabled, deleted, failing, lost = 15, 0, 1, 2, 3, 4
		soon                                             = 5 * time.Second // an interval of 1 s, and a slow machine
	)
	dsn := database(t)
	p := up(t, dataDir(t), append(wideTurns(30*time.Minute), "DATABASE_URL="+dsn, "VIGIL_REGIONS="+clusterRegion)...)
	c := client{t: t, url: p.ready.APIURL, key: p.ready.APIKey}
	site := newTarget(t)
	var ids, paths [checks]string
	for i := range checks {
		var made check
		c.into(&made, http.MethodPost, "/v1/checks", httpCheck(fmt.Sprintf("wide %d", i), fmt.Sprintf("%s/%d", site.URL, i), 1, clusterRegion))
		ids[i], paths[i] = made.ID, "/v1/checks/"+made.ID
	}
	turns := func(i int) turnsOf {
		var rows []turnsOf
		c.into(&rows, http.MethodGet, paths[i]+"/regions", nil)
		return rows[0]
	}
	eventually(t, "the turns of all checks cover the window", func() bool {
		for i := range checks {
			if got := turns(i); got.Slots != 1800 || got.Reason != "window" && got.Reason != "budget" || got.Source != "workflow" {
				return false
			}
		}
		return true
	})

	first := loopState(t, p, ids[edited])
	eventually(t, "the workflow answers with a slot of the turn that runs", func() bool {
		now := loopState(t, p, ids[edited])
		return now.Turns == first.Turns && now.Slot.After(first.Slot) && now.Next.After(now.Slot) && time.Since(now.Slot) < soon
	})

	pauses := notePauses(t)
	within := func(what string, since time.Time, fact func() bool) {
		t.Helper()
		eventually(t, what, fact)
		figure(t, what, time.Since(since), soon, pauses.longest())
	}
	began := time.Now()
	c.into(nil, http.MethodPut, paths[edited], map[string]any{"config": map[string]any{"url": site.URL + "/edited"}})
	within("a new definition probes", began, func() bool { return site.count("/edited") > 0 })
	began = time.Now()
	c.into(nil, http.MethodPut, paths[disabled], map[string]any{"enabled": false})
	within("a disabled check stops", began, func() bool { return running(t, p, ids[disabled]) == 0 })
	began = time.Now()
	c.into(nil, http.MethodDelete, paths[deleted], nil)
	within("a deleted check stops", began, func() bool { return running(t, p, ids[deleted]) == 0 })
	hits := func() int { return site.count(fmt.Sprintf("/%d", disabled)) + site.count(fmt.Sprintf("/%d", deleted)) }
	stopped, others := hits(), site.count("/edited")
	terminate(t, p, ids[lost])
	began = time.Now()
	site.broken.Store(true) // this ends every turn, that of the terminated loop too
	within("the workflow counts failures", began, func() bool { return turns(failing).Streak > 0 })
	eventually(t, "three more slots", func() bool { return site.count("/edited") >= others+3 })
	// A worker looks for changes once a second, so each of them may have had one more slot.
	if n := hits(); n > stopped+2 {
		t.Errorf("%d probes of checks that have ended, want 2 at most", n-stopped)
	}
	eventually(t, "the sweep finds the terminated loop overdue and starts it again", func() bool {
		return running(t, p, ids[lost]) == 1 && turns(lost).Streak > 0
	})
	figure(t, "a terminated loop counts failures", time.Since(began), operatorBound, pauses.longest())
	began = time.Now()
	p.stop()
	figure(t, "the process stops", time.Since(began), 15*time.Second, pauses.longest())
}

// loopState asks the workflow of a check for its state, as the Temporal UI does.
func loopState(t *testing.T, p *process, checkID string) (state vigil.LoopState) {
	t.Helper()
	c := dialTemporal(t, p.ready.TemporalAddress, p.ready.Namespace)
	defer c.Close()
	value, err := c.QueryWorkflow(t.Context(), "check/"+checkID+"/"+clusterRegion, "", workflows.QueryState)
	if err != nil {
		t.Fatal(err)
	}
	if err := value.Get(&state); err != nil {
		t.Fatal(err)
	}
	return state
}

// terminate ends the loop of a check in Temporal, as an operator does.
func terminate(t *testing.T, p *process, checkID string) {
	t.Helper()
	c := dialTemporal(t, p.ready.TemporalAddress, p.ready.Namespace)
	defer c.Close()
	if err := c.TerminateWorkflow(t.Context(), "check/"+checkID+"/"+clusterRegion, "", "the drill ends it"); err != nil {
		t.Fatal(err)
	}
}
