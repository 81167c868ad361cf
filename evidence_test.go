// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// episode is a loop that probes at an interval and keeps evidence as its state decides.
type episode struct {
	state vigil.State
	rules []vigil.Rule
	at    time.Time
	every time.Duration
}

func newEpisode(every time.Duration) *episode {
	return &episode{at: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), every: every}
}

// next folds the next result, and reports whether it kept its evidence.
func (e *episode) next(failure string, status int) bool {
	e.at = e.at.Add(e.every)
	result := vigil.Result{Slot: e.at, Observation: vigil.Observation{Success: failure == "", Error: failure, StatusCode: status}}
	result.HasEvidence = e.state.WantsEvidence(e.rules, result)
	e.state, _ = vigil.Evaluate(e.rules, e.state, result)
	return result.HasEvidence
}

// kept returns which of the results kept evidence, as text: x for one that did.
func (e *episode) kept(failures ...string) string {
	var out strings.Builder
	for _, failure := range failures {
		out.WriteString(map[bool]string{true: "x", false: "."}[e.next(failure, 0)])
	}
	return out.String()
}

func TestEvidenceIsKept(t *testing.T) {
	t.Parallel()
	t.Run("ForTheFirstThreeFailuresOfAnEpisode", func(t *testing.T) {
		t.Parallel()
		if got := newEpisode(time.Minute).kept("", "refused", "refused", "refused", "refused", "refused", "", "refused"); got != ".xxx...x" {
			t.Errorf("kept %s", got)
		}
	})
	t.Run("ForAChangedError", func(t *testing.T) {
		t.Parallel()
		if got := newEpisode(time.Minute).kept("a", "a", "a", "a", "b", "b", "a", "c", "b"); got != "xxx.x..x." {
			t.Errorf("kept %s", got)
		}
	})
	t.Run("NotForOtherNumbersInAnError", func(t *testing.T) {
		t.Parallel()
		e := newEpisode(time.Minute)
		e.kept("timed out after 10s while connecting to 192.0.2.1:443", "x", "x")
		if got := e.kept(
			"timed out after 9.5s while connecting to 192.0.2.99:80", "timed out after 1ms while connecting to 2001:db8::1:80",
			"timed out after 10s while reading from 192.0.2.1:443", "request 7f00ab-1 failed", "request 0c-2d failed",
		); got != "..xx." {
			t.Errorf("kept %s", got)
		}
	})
	t.Run("ForAnotherStatus", func(t *testing.T) {
		t.Parallel()
		e := newEpisode(time.Minute)
		for range 4 {
			e.next("status 502, expected 200", 502)
		}
		if !e.next("status 503, expected 200", 503) || e.next("status 502, expected 200", 502) {
			t.Error("a new status is not a changed error, or a known one is")
		}
	})
	t.Run("EveryHour", func(t *testing.T) {
		t.Parallel()
		e, kept := newEpisode(30*time.Second), []int{}
		for i := range 500 {
			if e.next("refused", 0) {
				kept = append(kept, i)
			}
		}
		if got := fmt.Sprint(kept); got != "[0 1 2 122 242 362 482]" {
			t.Errorf("kept %s", got)
		}
	})
	t.Run("WhenARuleBeginsToFire", func(t *testing.T) {
		t.Parallel()
		e := newEpisode(time.Minute)
		e.rules = []vigil.Rule{{ID: uuid.New(), Enabled: true, Condition: vigil.Condition{FailureThreshold: 6}}}
		if got := e.kept("a", "a", "a", "a", "a", "a", "a"); got != "xxx..x." {
			t.Errorf("kept %s", got)
		}
	})
	t.Run("OnceForAStateOfAnOlderRelease", func(t *testing.T) {
		t.Parallel()
		e := newEpisode(time.Minute)
		older := `{"type":"http","slot":"2026-03-01T00:00:00Z","health":"unhealthy","failures":40}`
		if err := json.Unmarshal([]byte(older), &e.state); err != nil {
			t.Fatal(err)
		}
		if got := e.kept("a", "a", "a"); got != "x.." {
			t.Errorf("kept %s", got)
		}
	})
	t.Run("NotForASlotThatTheStateIncludes", func(t *testing.T) {
		t.Parallel()
		e := newEpisode(time.Minute)
		e.next("a", 0)
		if e.state.WantsEvidence(nil, vigil.Result{Slot: e.at, Observation: vigil.Observation{Error: "b"}}) {
			t.Error("kept twice for a slot")
		}
	})
	t.Run("ByHandWithoutUsingTheAllowance", func(t *testing.T) {
		t.Parallel()
		e := newEpisode(time.Minute)
		for i := range 50 {
			manual := vigil.Result{
				Slot: e.at.Add(time.Duration(i) * time.Second), Manual: true, HasEvidence: true, Observation: vigil.Observation{Error: "a"},
			}
			e.state, _ = vigil.Evaluate(nil, e.state, manual)
		}
		if e.state.Evidence != nil {
			t.Errorf("state %+v", e.state.Evidence)
		}
	})
}

// TestEvidenceStateIsSmall holds that a healthy loop's state is as it was before evidence, and
// that it is bounded for every target.
func TestEvidenceStateIsSmall(t *testing.T) {
	t.Parallel()
	e := newEpisode(30 * time.Second)
	words := strings.Fields(strings.Repeat("alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu ", 100))
	largest := 0
	for _, word := range words {
		e.next(word, 0)
		text, err := json.Marshal(e.state.Evidence)
		if err != nil {
			t.Fatal(err)
		}
		largest = max(largest, len(text))
	}
	if largest > 160 {
		t.Errorf("%d bytes of a state", largest)
	}
	for range 24 * 120 {
		e.next("", 0)
	}
	if e.state.Evidence != nil {
		t.Errorf("a loop that is healthy for a day remembers %+v", e.state.Evidence)
	}
}

// TestEvidenceOfADayIsBounded computes what 10,000 failing checks write on a day at most, and
// measures it for targets that try to write much.
func TestEvidenceOfADayIsBounded(t *testing.T) {
	t.Parallel()
	const checks, limit = 10_000, 60e9
	if worst := float64(checks * vigil.MaxEvidencePerDay * vigil.MaxEvidence); worst > limit/10 {
		t.Errorf("the bound of a day is %.1f GB", worst/1e9)
	}
	typical := vigil.EncodeEvidence(typicalEvidence(), 500)
	for name, failure := range map[string]func(i int) string{
		"OneError":               func(int) string { return "refused" },
		"OtherNumbers":           func(i int) string { return fmt.Sprint("timed out after ", i, "ms at 192.0.2.1:", i) },
		"AnotherErrorEachTime":   func(i int) string { return "error " + strings.Repeat("x", i%400) },
		"EveryOtherProbePasses":  func(i int) string { return strings.Repeat("refused", i%2) },
		"ThreeFailuresAndPasses": func(i int) string { return strings.Repeat("refused", min(1, i%4)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, first, second := newEpisode(30*time.Second), 0, 0
			for i := range 2 * 24 * 120 {
				if !e.next(failure(i), 0) {
					continue
				}
				if i < 24*120 {
					first++
				} else {
					second++
				}
			}
			if first > vigil.MaxEvidencePerDay || second > 49 || second == 0 {
				t.Errorf("%d results of the first day and %d of the second keep evidence", first, second)
			}
			if name == "OneError" && (first != 26 || second != 24) || name == "OtherNumbers" && first > 27 {
				t.Errorf("%d results of the first day and %d of the second keep evidence", first, second)
			}
			t.Logf("%d results a day, then %d: %.1f KB a check with typical evidence (%d bytes), %.1f KB at most; 10,000 checks %.2f and %.2f GB",
				first, second, float64(first*len(typical))/1e3, len(typical), float64(first*vigil.MaxEvidence)/1e3,
				checks*float64(first*len(typical))/1e9, checks*float64(first*vigil.MaxEvidence)/1e9)
		})
	}
}

func typicalEvidence() *vigil.Evidence {
	page := strings.Repeat("<p>upstream</p>\n", 128) // 2 KiB
	e := &vigil.Evidence{
		StatusLine: "HTTP/1.1 503 Service Unavailable", Address: "203.0.113.7:443",
		DNS:  []vigil.EvidenceLookup{{Name: "shop.example.com", Answers: []string{"203.0.113.7", "203.0.113.8"}}},
		Body: &vigil.EvidenceContent{Text: page, Bytes: 9000, Truncated: true, ContentType: "text/html"},
		Certificates: []vigil.EvidenceCertificate{{
			Subject: "CN=shop.example.com", Issuer: "CN=R11,O=Let's Encrypt,C=US",
			NotBefore: "2026-01-01T00:00:00Z", NotAfter: "2026-04-01T00:00:00Z",
		}},
	}
	for i := range 12 {
		e.Headers = append(e.Headers, vigil.EvidenceHeader{Name: fmt.Sprint("X-Header-", i), Value: strings.Repeat("v", 20)})
	}
	return e
}

// largestEvidence is more than fits.
func largestEvidence() *vigil.Evidence {
	e := typicalEvidence()
	e.Body.Text = strings.Repeat(`"`, 2048)
	for i := range 40 {
		e.Headers = append(e.Headers, vigil.EvidenceHeader{Name: fmt.Sprint("X-Large-", i), Value: strings.Repeat("\\", 300)})
	}
	for range 4 {
		e.Certificates = append(e.Certificates, e.Certificates[0])
	}
	return e
}

func TestEncodeEvidence(t *testing.T) {
	t.Parallel()
	t.Run("IsWholeWhereItFits", func(t *testing.T) {
		t.Parallel()
		want := typicalEvidence()
		got, err := vigil.DecodeEvidence(vigil.EncodeEvidence(want, 0))
		if err != nil || got.Truncated || len(got.Headers) != 12 || got.Body.Text != want.Body.Text {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("NeverExceedsItsSpace", func(t *testing.T) {
		t.Parallel()
		for metadata := 0; metadata <= vigil.MaxMetadata; metadata += 97 {
			text := vigil.EncodeEvidence(largestEvidence(), metadata)
			if len(text)+metadata > vigil.MaxMetadata || len(text) > vigil.MaxEvidence {
				t.Fatalf("%d bytes beside metadata of %d", len(text), metadata)
			}
			got, err := vigil.DecodeEvidence(text)
			if err != nil || got != nil && !got.Truncated || got == nil && vigil.MaxMetadata-metadata > 20 {
				t.Fatalf("beside metadata of %d: %+v, %v", metadata, got, err)
			}
		}
	})
	t.Run("KeepsTheStatusLineLongest", func(t *testing.T) {
		t.Parallel()
		got, err := vigil.DecodeEvidence(vigil.EncodeEvidence(largestEvidence(), vigil.MaxMetadata-400))
		if err != nil || got.StatusLine == "" || !got.Truncated || len(got.Headers) != 0 {
			t.Errorf("%+v, %v", got, err)
		}
	})
	t.Run("OfNothing", func(t *testing.T) {
		t.Parallel()
		if text := vigil.EncodeEvidence(nil, 0); text != nil {
			t.Errorf("%s", text)
		}
	})
}

func TestEvidenceText(t *testing.T) {
	t.Parallel()
	e := typicalEvidence()
	text := e.Text(1024)
	if len(text) > 1024 || !strings.HasSuffix(text, "…") ||
		!strings.HasPrefix(text, e.StatusLine+"\nAddress: 203.0.113.7:443\n") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
	e.Body = &vigil.EvidenceContent{Bytes: 4008, Binary: true}
	if text := e.Text(1024); !strings.HasSuffix(text, "\nBody: binary, 4008 bytes") {
		t.Errorf("%s", text)
	}
	if none := (*vigil.Evidence)(nil); none.Text(100) != "" {
		t.Error("no evidence has a text")
	}
}
