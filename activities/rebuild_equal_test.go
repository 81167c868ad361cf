// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// history is the rules of a check, and its results in a region with edits of the check between
// them.
type history struct {
	rules []vigil.Rule
	rows  []vigil.Result
	// enabled and edited are the indexes of the first results after the check was enabled again,
	// and after its interval was changed; -1: never.
	enabled, edited int
	cuts            []int // how many results there are when the state is rebuilt
}

// drawHistory draws long runs of results of a kind, and rules with every key of a condition.
func drawHistory(t *rapid.T) history {
	h := history{rules: rapid.SliceOfN(rapid.Custom(drawAnyRule), 1, 4).Draw(t, "rules")}
	slot := time.Date(2026, 3, 10, 12, 30, 0, 0, time.UTC)
	step := rapid.SampledFrom([]time.Duration{time.Second, 30 * time.Second, 11 * time.Minute}).Draw(t, "interval")
	for range rapid.IntRange(1, 5).Draw(t, "runs") {
		kind := rapid.IntRange(0, 6).Draw(t, "kind")
		for range rapid.SampledFrom([]int{1, 2, 3, 7, 99, 101, 150}).Draw(t, "length") {
			slot = slot.Add(step)
			h.rows = append(h.rows, drawResult(t, kind, slot))
		}
	}
	h.enabled = rapid.SampledFrom([]int{-1, -1, rapid.IntRange(1, len(h.rows)).Draw(t, "enabled")}).Draw(t, "is enabled again")
	h.edited = rapid.SampledFrom([]int{-1, -1, rapid.IntRange(1, len(h.rows)).Draw(t, "edited")}).Draw(t, "is edited")
	h.cuts = rapid.SliceOfNDistinct(rapid.IntRange(1, len(h.rows)), 1, min(3, len(h.rows)), rapid.ID[int]).Draw(t, "cuts")
	slices.Sort(h.cuts)
	return h
}

// drawResult draws a result of a kind of run.
func drawResult(t *rapid.T, kind int, slot time.Time) vigil.Result {
	row := vigil.Result{
		Slot:        slot,
		Time:        slot,
		Observation: vigil.Observation{Success: true, ResponseTime: 20 * time.Millisecond, StatusCode: 200},
	}
	fail := func(text string) { row.Success, row.Error, row.StatusCode = false, text, 0 }
	switch kind {
	case 0: // with a certificate
		row.Metadata = map[string]any{vigil.MetadataCertDays: rapid.IntRange(0, 12).Draw(t, "days")}
	case 1: // one that has expired
		fail("expired")
		row.Metadata = map[string]any{vigil.MetadataDays: rapid.IntRange(-3, 3).Draw(t, "days")}
	case 2: // nothing answers
		fail("refused")
	case 3: // DNS, which fails sometimes
		row.Metadata = map[string]any{
			vigil.MetadataFingerprint: rapid.SampledFrom([]string{"A x:1", "A x:1", "A x:1", "A x:2"}).Draw(t, "answer"),
		}
		if rapid.IntRange(0, 4).Draw(t, "fails") == 0 {
			fail("no answer")
		}
	case 4: // slow, without a certificate
		row.ResponseTime = time.Duration(rapid.IntRange(1, 900).Draw(t, "ms")) * time.Millisecond
	case 5: // statuses
		row.StatusCode = rapid.SampledFrom([]int{200, 404, 503}).Draw(t, "status")
		if row.StatusCode >= 400 {
			row.Success, row.Error = false, "status"
		}
	}
	return row
}

func drawAnyRule(t *rapid.T) vigil.Rule {
	c := vigil.Condition{RecoveryThreshold: rapid.SampledFrom([]int{0, 1, 2, 5, 100}).Draw(t, "recovery")}
	for _, key := range rapid.SliceOfNDistinct(rapid.IntRange(0, 5), 1, 2, rapid.ID[int]).Draw(t, "keys") {
		switch key {
		case 0:
			c.HealthStatus = rapid.SampledFrom([]string{"down", "up"}).Draw(t, "health")
		case 1:
			c.FailureThreshold = rapid.SampledFrom([]int{1, 2, 5, 120}).Draw(t, "failures")
		case 2:
			c.ResponseTimeMS = new(500)
		case 3:
			c.StatusCode = rapid.SampledFrom([]int{400, 500}).Draw(t, "code")
		case 4:
			c.DNSChanged = true
		case 5:
			c.SSLDaysRemaining = new(rapid.IntRange(0, 10).Draw(t, "remaining"))
		}
	}
	return vigil.Rule{ID: uuid.New(), Condition: c, Enabled: rapid.IntRange(0, 9).Draw(t, "off") > 0}
}

// definition returns the definition with which the first n results were judged.
func (h *history) definition(id uuid.UUID, n int) vigil.Definition {
	def := vigil.Definition{
		Check: vigil.Check{ID: id, Type: vigil.TypeHTTP, Interval: time.Second, Enabled: true}, Rules: h.rules,
		Starts: map[string]time.Time{region: h.rows[0].Slot},
	}
	for i := range n {
		switch i {
		case h.enabled:
			def.Starts, def.StatesFrom = map[string]time.Time{region: h.rows[i].Slot}, nil
		case h.edited:
			def.StatesFrom = map[string]time.Time{region: def.StateFrom(region)}
			def.Starts = map[string]time.Time{region: h.rows[i].Slot}
		}
	}
	return def
}

// needed returns the members of a state on which the rules depend.
func (h *history) needed(state vigil.State) vigil.State {
	if !slices.ContainsFunc(h.rules, func(r vigil.Rule) bool { return r.Condition.DNSChanged }) {
		state.DNS, state.DNSSlot = "", time.Time{}
	}
	if !slices.ContainsFunc(h.rules, func(r vigil.Rule) bool { return r.Condition.SSLDaysRemaining != nil }) {
		state.Days = nil
	}
	return state
}

// rebuilds says where a rebuilt state differs from the one that was kept, empty for nowhere. The
// reader has the first results of the history only when n says so.
func (h *history) rebuilds(id uuid.UUID, rebuild func(def vigil.Definition, n int) (vigil.State, error)) string {
	var kept vigil.State
	for i, row := range h.rows {
		def := h.definition(id, i+1)
		kept = activities.Fold(def, region, kept, row)
		if !slices.Contains(h.cuts, i+1) {
			continue
		}
		rebuilt, err := rebuild(def, i+1)
		if err != nil {
			return err.Error()
		}
		if got, want := h.needed(rebuilt), h.needed(kept); !reflect.DeepEqual(got, want) {
			a, _ := json.Marshal(got)
			b, _ := json.Marshal(want)
			return fmt.Sprintf("after %d of %d results\nrebuilt %s\nkept    %s", i+1, len(h.rows), a, b)
		}
	}
	return ""
}

// TestARebuiltStateIsTheOneThatWasKept holds for every key of a condition: whenever the state of
// a loop is lost, the one that is rebuilt from the stored results is the same.
func TestARebuiltStateIsTheOneThatWasKept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		h, id := drawHistory(t), uuid.New()
		problem := h.rebuilds(id, func(def vigil.Definition, n int) (vigil.State, error) {
			w := &watchFixture{rows: slices.Clone(h.rows[:n])}
			for i := range w.rows {
				w.rows[i].CheckID, w.rows[i].Region = id, region
			}
			return activities.Rebuild(t.Context(), w, def, region)
		})
		if problem != "" {
			t.Fatal(problem)
		}
	})
}

// TestARebuiltStateIsTheOneThatWasKeptInPostgres is the same with some histories in Postgres.
func TestARebuiltStateIsTheOneThatWasKeptInPostgres(t *testing.T) {
	t.Parallel()
	s := storagetest.New(t)
	_, org, err := s.CreateAccount(t.Context(), account.Organization{Name: "Acme"}, account.User{Email: "ada@example.com", Name: "Ada"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	writer := storage.NewResultWriter(s, storage.WriterOptions{Delay: time.Millisecond})
	var running sync.WaitGroup
	running.Go(func() { _ = writer.Run(t.Context()) })
	t.Cleanup(func() { writer.Close(); running.Wait() })
	const examples = 20
	for seed := range examples {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			h := rapid.Custom(drawHistory).Example(seed)
			check, err := s.CreateCheck(t.Context(), vigil.Check{
				OrgID: org.ID, Name: "c", Type: vigil.TypeHTTP, Config: json.RawMessage(`{"url": "https://example.com/"}`),
				Target: "example.com", Interval: time.Second, Regions: []string{region}, Enabled: true, Simultaneous: true,
			}, account.PlanOf(account.TierEnterprise, time.Second), account.Allowance{})
			if err != nil {
				t.Fatal(err)
			}
			stored := 0
			problem := h.rebuilds(check.ID, func(def vigil.Definition, n int) (vigil.State, error) {
				var writes sync.WaitGroup
				for _, row := range h.rows[stored:n] {
					row.ID, row.CheckID, row.Region = vigil.ResultID(check.ID, region, row.Slot), check.ID, region
					writes.Go(func() {
						if _, err := writer.Write(t.Context(), vigil.ResultRow{Result: row, Worker: "w", Deadline: time.Second}); err != nil {
							t.Error(err)
						}
					})
				}
				writes.Wait()
				stored = n
				return activities.Rebuild(t.Context(), s, def, region)
			})
			if problem != "" {
				t.Fatal(problem)
			}
		})
	}
}
