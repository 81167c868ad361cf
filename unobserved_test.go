// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// TestUnobservedEventHasTheCheck: its check is that of other events, with the labels.
func TestUnobservedEventHasTheCheck(t *testing.T) {
	t.Parallel()
	for _, end := range []vigil.UnobservedEnd{"", vigil.ObservedAgain} {
		event, err := vigil.NewUnobservedEvent(&vigil.UnobservedContext{
			UnobservedCheck: vigil.UnobservedCheck{ID: uuid.New(), CheckID: uuid.New(), OrgID: uuid.New()},
			Check:           vigil.Check{Name: "Shop", Labels: vigil.Labels{"team": "web"}},
			Time:            time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC),
			End:             end,
		})
		if err != nil {
			t.Fatal(err)
		}
		var body struct {
			Data struct {
				Check struct {
					Labels vigil.Labels `json:"labels"`
				} `json:"check"`
			} `json:"data"`
		}
		if err := json.Unmarshal(event.Envelope, &body); err != nil {
			t.Fatal(err)
		}
		if got := body.Data.Check.Labels["team"]; got != "web" || event.Variables["label.team"] != "web" {
			t.Errorf("end %q: the label is %q, the variable %q", end, got, event.Variables["label.team"])
		}
	}
}
