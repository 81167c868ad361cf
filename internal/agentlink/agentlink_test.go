// SPDX-License-Identifier: Apache-2.0

package agentlink_test

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/agentlink"
)

func TestSeal(t *testing.T) {
	t.Parallel()
	key, err := agentlink.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	other, err := agentlink.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	public, err := agentlink.ParseKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	config := []byte(`{"url":"https://example.com","headers":{"Authorization":"Bearer hunter2"}}`)
	check := agentlink.Check{ID: uuid.New(), Revision: 7}
	if check.Sealed, err = public.Seal(check.ID, check.Revision, config); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(check.Sealed, []byte("hunter2")) {
		t.Error("the sealed config shows its secret")
	}
	if opened, err := key.Open(&check); err != nil || !bytes.Equal(opened, config) {
		t.Errorf("opened %q, %v", opened, err)
	}
	for name, changed := range map[string]func(c *agentlink.Check){
		"another check":    func(c *agentlink.Check) { c.ID = uuid.New() },
		"another revision": func(c *agentlink.Check) { c.Revision++ },
		"a changed bit":    func(c *agentlink.Check) { c.Sealed = bytes.Clone(c.Sealed); c.Sealed[len(c.Sealed)-1] ^= 1 },
		"a part":           func(c *agentlink.Check) { c.Sealed = c.Sealed[:20] },
		"nothing":          func(c *agentlink.Check) { c.Sealed = nil },
	} {
		wrong := check
		changed(&wrong)
		if opened, err := key.Open(&wrong); err == nil {
			t.Errorf("%s: opened %q", name, opened)
		}
	}
	if opened, err := other.Open(&check); err == nil {
		t.Errorf("another key opened %q", opened)
	}
	for _, wrong := range [][]byte{nil, make([]byte, 31), make([]byte, 33), make([]byte, 1<<20)} {
		if _, err := agentlink.ParseKey(wrong); err == nil {
			t.Errorf("a key of %d bytes was read", len(wrong))
		}
	}
}

func TestShare(t *testing.T) {
	t.Parallel()
	if got := agentlink.Share(uuid.New(), nil); got != uuid.Nil {
		t.Errorf("without agents %v has it", got)
	}
	agents := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	counts := make(map[uuid.UUID]int)
	const checks = 9000
	for range checks {
		check := uuid.New()
		owner := agentlink.Share(check, agents)
		counts[owner]++
		if again := agentlink.Share(check, []uuid.UUID{agents[2], agents[0], agents[1]}); again != owner {
			t.Fatalf("in another order %v and not %v", again, owner)
		}
		if owner == agents[2] {
			continue
		}
		if without := agentlink.Share(check, agents[:2]); without != owner {
			t.Fatalf("the check moved from %v to %v when another agent went", owner, without)
		}
	}
	for agent, n := range counts {
		if math.Abs(float64(n)-checks/3) > checks/30 {
			t.Errorf("%v has %d of %d checks", agent, n, checks)
		}
	}
}

func TestObservationTravels(t *testing.T) {
	t.Parallel()
	seen := vigil.Observation{
		ResponseTime: 12345 * time.Microsecond, StatusCode: 503, Error: "503", Metadata: map[string]any{"a": 1.5},
		Evidence: &vigil.Evidence{StatusLine: "HTTP/1.1 503 Service Unavailable"},
	}
	raw, err := json.Marshal(agentlink.ObservationOf(seen))
	if err != nil {
		t.Fatal(err)
	}
	var read agentlink.Observation
	if err := json.Unmarshal(raw, &read); err != nil {
		t.Fatal(err)
	}
	got := read.Observation()
	if got.ResponseTime != seen.ResponseTime || got.StatusCode != 503 || got.Error != "503" || got.Metadata["a"] != 1.5 ||
		got.Evidence == nil || got.Evidence.StatusLine != seen.Evidence.StatusLine || got.Success {
		t.Errorf("%+v became %+v by %s", seen, got, raw)
	}
}
