// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// recorded is what a backtest says of the incidents that there were.
type recorded struct {
	Rules []struct {
		Totals struct{ Incidents int }
	}
	Actual struct {
		Total, Both int
		OnlyActual  int `json:"only_actual"`
		OnlyFirst   int `json:"only_first"`
		Incidents   []struct {
			TriggerResultID *string `json:"trigger_result_id"`
			ByFirstRule     bool    `json:"by_first_rule"`
		}
	}
}

// TestRecoveryThreshold lets two checks see a target that flaps: the one whose rule has a
// recovery threshold has one incident, the other one for each failure. A backtest of each
// rule answers with the incidents that there were.
func TestRecoveryThreshold(t *testing.T) {
	timingtest.Parallel(t)
	shop := newService(t)
	_, api := shared(t)
	var channel struct{ ID string }
	api.into(&channel, http.MethodPost, "/v1/notification-channels",
		map[string]any{"name": "ops", "type": "webhook", "config": map[string]any{"url": shop.URL + "/hook"}})
	const flaps = 3
	checks, rules := make(map[int]check), make(map[int]string)
	for recovery, name := range map[int]string{1: "plain", 100: "held"} {
		var made check
		api.into(&made, http.MethodPost, "/v1/checks", httpCheck(name, shop.URL+"/checkout", 1, "eu-central-fra"))
		var rule struct{ ID string }
		api.into(&rule, http.MethodPost, "/v1/checks/"+made.ID+"/alerts", map[string]any{
			"name": "down", "notification_channel_ids": []string{channel.ID},
			"condition": map[string]any{"health_status": "down", "recovery_threshold": recovery},
		})
		checks[recovery], rules[recovery] = made, rule.ID
	}
	open := func(recovery int, status string) int {
		var incidents []struct{ ID string }
		api.into(&incidents, http.MethodGet, "/v1/incidents?check_id="+checks[recovery].ID+"&status="+status, nil)
		return len(incidents)
	}
	eventually(t, "both checks pass", func() bool { return shop.hits("/checkout") >= 2 })
	for n := range flaps {
		shop.fail("/checkout")
		eventually(t, "the rule without a threshold opens an incident", func() bool { return open(1, "active") == 1 && open(100, "active") == 1 })
		shop.repair("/checkout")
		eventually(t, "it resolves", func() bool { return open(1, "resolved") == n+1 })
	}
	if held, resolved := open(100, "active"), open(100, "resolved"); held != 1 || resolved != 0 {
		t.Errorf("the rule with a threshold has %d open and %d resolved incidents, want one open", held, resolved)
	}
	for recovery, want := range map[int]int{1: flaps, 100: 1} {
		var answer recorded
		eventually(t, "the last results are stored", func() bool {
			api.into(&answer, http.MethodPost, "/v1/checks/"+checks[recovery].ID+"/alerts/backtest", map[string]any{
				"rules": []any{map[string]any{"id": rules[recovery]}}, "actual": true, "from": time.Now().Add(-time.Hour),
			})
			return answer.Rules[0].Totals.Incidents == want
		})
		a := answer.Actual
		if a.Total != want || a.Both != want || a.OnlyActual != 0 || a.OnlyFirst != 0 {
			t.Errorf("recovery threshold %d: %+v, want %d of %d incidents equal", recovery, a, want, want)
		}
		t.Logf("recovery threshold %d: %d of %d incidents equal", recovery, a.Both, a.Total)
	}
}
