// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
)

// encoded returns the JSON of metadata as the API writes it.
func encoded(t *testing.T, metadata map[string]any) []byte {
	t.Helper()
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(metadata); err != nil {
		t.Fatal(err)
	}
	return bytes.TrimSpace(text.Bytes())
}

// decoded returns metadata as it is read from JSON.
func decoded(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var metadata map[string]any
	if err := json.Unmarshal(text, &metadata); err != nil {
		t.Fatal(err)
	}
	return metadata
}

// checkBound proves what is true of any metadata.
func checkBound(t *testing.T, metadata map[string]any) map[string]any {
	t.Helper()
	before := encoded(t, metadata)
	bounded, changed := vigil.BoundMetadata(metadata)
	text := encoded(t, bounded)
	if len(text) > vigil.MaxMetadata {
		t.Fatalf("%d bytes of %d are left", len(text), len(before))
	}
	if !bytes.Equal(encoded(t, metadata), before) {
		t.Fatal("the argument was changed")
	}
	if again, twice := vigil.BoundMetadata(bounded); twice || !reflect.DeepEqual(again, bounded) {
		t.Fatal("bounded metadata was cut again")
	}
	if changed != (bounded[vigil.MetadataTruncated] == true) && metadata[vigil.MetadataTruncated] != true {
		t.Fatalf("changed is %v, the mark is %v", changed, bounded[vigil.MetadataTruncated])
	}
	if !changed && !bytes.Equal(text, before) {
		t.Fatal("metadata within the bound was changed")
	}
	for name, value := range bounded {
		if _, ok := metadata[name]; !ok && name != vigil.MetadataTruncated {
			t.Fatalf("%q = %v was added", name, value)
		}
	}
	return bounded
}

// shapes makes JSON of random shapes, until its budget of bytes is spent.
type shapes struct {
	*rand.Rand
	budget int
}

// upTo returns a number below limit; small ones are as frequent as large ones.
func (s *shapes) upTo(limit int) int { return s.IntN(1 + s.IntN(1+s.IntN(limit))) }

func (s *shapes) value(depth int) any {
	s.budget--
	switch n := s.IntN(8); {
	case n == 0:
		return nil
	case n == 1:
		return s.IntN(2) == 0
	case n == 2:
		return []float64{0, 1.5, -7, 1e300, 5e-324, float64(s.IntN(1 << 30))}[s.IntN(6)]
	case n < 6 || depth == 0:
		letters := []rune("ab\"\\<\x01\u2028é世🙂 ")
		text := make([]rune, max(0, min(s.upTo(20_000), s.budget)))
		for i := range text {
			text[i] = letters[s.IntN(len(letters))]
		}
		s.budget -= len(text)
		return string(text)
	case n == 6:
		list := []any{}
		for range s.upTo(5000) {
			if s.budget > 0 {
				list = append(list, s.value(depth-1))
			}
		}
		return list
	}
	return s.object(depth - 1)
}

func (s *shapes) object(depth int) map[string]any {
	tree := map[string]any{}
	for range 1 + s.upTo(1000) {
		if s.budget > 0 {
			tree[fmt.Sprint("k", s.upTo(1<<30))] = s.value(depth)
		}
	}
	return tree
}

func TestBoundMetadata(t *testing.T) {
	t.Parallel()

	t.Run("AnyJSONIsWithinTheBound", func(t *testing.T) {
		t.Parallel()
		cut := 0
		for seed := range uint64(400) {
			random := shapes{Rand: rand.New(rand.NewPCG(seed, 1))}
			random.budget = random.IntN(40_000)
			metadata := random.object(3)
			if checkBound(t, metadata)[vigil.MetadataTruncated] == true {
				cut++
			}
		}
		if cut < 100 || cut > 350 {
			t.Errorf("%d of 400 were cut; the shapes prove little", cut)
		}
	})

	t.Run("SmallMembersStayAndTheLargestLosesItsEnd", func(t *testing.T) {
		t.Parallel()
		metadata := map[string]any{
			"ip": "192.0.2.1", "redirects": 3.0, "nothing": nil, "complete": false,
			"headers": map[string]any{"server": "x", "cookie": strings.Repeat("c", 3000)},
			"body":    strings.Repeat("ö", 1<<20),
		}
		bounded := checkBound(t, metadata)
		for _, name := range []string{"ip", "redirects", "nothing", "complete", "headers"} {
			if got, ok := bounded[name]; !ok || !reflect.DeepEqual(got, metadata[name]) {
				t.Errorf("%s became %v", name, got)
			}
		}
		body, _ := bounded["body"].(string)
		if rest, marked := strings.CutSuffix(body, "..."); !marked || strings.Trim(rest, "ö") != "" || len(body) < 12_000 {
			t.Errorf("%d bytes of the body are left, its end is %q", len(body), body[max(0, len(body)-10):])
		}
		if n := len(encoded(t, bounded)); n < vigil.MaxMetadata-32 {
			t.Errorf("only %d bytes are used", n)
		}
	})

	t.Run("MembersThatRulesNeedStay", func(t *testing.T) {
		t.Parallel()
		metadata := map[string]any{
			"fingerprint": "q:" + strings.Repeat("f", 200), "days_remaining": 12.0, "cert_days_remaining": 13.0,
			"timings": map[string]any{"dns_ms": 1.25, "connect_ms": 2.5, "total_ms": strings.Repeat("9", 300)},
		}
		want := decoded(t, encoded(t, metadata))
		for i := range 3000 {
			metadata[fmt.Sprintf("x%04d", i)] = 1.0
		}
		bounded := checkBound(t, metadata)
		for name, value := range want {
			if !reflect.DeepEqual(bounded[name], value) {
				t.Errorf("%s became %v", name, bounded[name])
			}
		}
		if len(bounded) < 1000 {
			t.Errorf("only %d members are left", len(bounded))
		}
	})

	t.Run("ListsKeepTheirBeginningAndOrder", func(t *testing.T) {
		t.Parallel()
		var numbers, steps []any
		for i := range 20_000 {
			numbers = append(numbers, float64(i))
		}
		for i := range 20 {
			steps = append(steps, map[string]any{"name": fmt.Sprint("step ", i), "error": strings.Repeat("e", 5000)})
		}
		list, _ := checkBound(t, map[string]any{"numbers": numbers})["numbers"].([]any)
		if len(list) < 2000 {
			t.Errorf("%d numbers are left", len(list))
		}
		for i, n := range list {
			if n != float64(i) {
				t.Fatalf("number %d is %v", i, n)
			}
		}
		list, _ = checkBound(t, map[string]any{"steps": steps})["steps"].([]any)
		if len(list) != 20 {
			t.Fatalf("%d steps are left", len(list))
		}
		for i, one := range list {
			step, _ := one.(map[string]any)
			if text, _ := step["error"].(string); step["name"] != fmt.Sprint("step ", i) || len(text) < 500 {
				t.Errorf("step %d: %v", i, one)
			}
		}
	})

	t.Run("LongNameIsDropped", func(t *testing.T) {
		t.Parallel()
		bounded := checkBound(t, map[string]any{strings.Repeat("n", 20_000): 1.0, "ip": "192.0.2.1"})
		if len(bounded) != 2 || bounded["ip"] != "192.0.2.1" {
			t.Errorf("%v", bounded)
		}
	})
}

func FuzzBoundMetadata(f *testing.F) {
	f.Add([]byte(`{"a": "` + strings.Repeat("\u2028", 9000) + `", "truncated": 1, "n": 1e300}`))
	f.Add([]byte(`{"list": [` + strings.Repeat("[[1e21]],", 5000) + `0]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var metadata map[string]any
		if json.Unmarshal(text, &metadata) == nil {
			checkBound(t, metadata)
		}
	})
}
