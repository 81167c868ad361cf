// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/client"
)

// sheetTypes are a type with pairs, and one of steps with the configs of others.
func sheetTypes() *checkTypes {
	return newCheckTypes([]client.CheckTypeInfo{
		{Type: "https", Members: []client.CheckMember{{Name: "headers", Input: client.CheckMemberInputPairs}}},
		{Type: "multistep", Members: []client.CheckMember{{Name: "steps", Input: client.CheckMemberInputRows, Members: &[]client.CheckMember{
			{Name: "name", Input: client.CheckMemberInputText}, {Name: "config", Input: client.CheckMemberInputConfig},
		}}}},
	})
}

// TestSheet pins how the rows of a form are found and counted again.
func TestSheet(t *testing.T) {
	t.Parallel()
	s := &sheet{Values: url.Values{
		"config.headers[7].name": {"A"}, "config.headers[7].value": {"1"}, "config.headers[2].name": {""}, "config.headers[2].value": {""},
		"config.steps[3].config.headers[9].name": {"B"}, "config.steps[3].config.headers[10].name": {""}, "config.steps[3].name": {"x"},
		"config.steps[1].name": {"y"}, "config.steps[1].config.headers[4].name": {"C"}, "config.steps[3].type": {"https"}, "name": {"n[1]"},
		"config.steps[1].type": {"https"}, "config.odd[1": {""}, "config.odd[-1]": {""}, "config.odd[01]": {""}, "config.odd[x]": {""},
	}}
	if got := s.rows("config.steps"); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("steps %v", got)
	}
	if got := s.rows("config.odd"); got != nil {
		t.Errorf("rows of names that are no rows: %v", got)
	}
	if got := s.rowCount(); got != 7 {
		t.Errorf("%d rows", got)
	}
	types := sheetTypes()
	s.tidy(append(emptyPairs(types.members("multistep"), s, "config"), emptyPairs(types.members("https"), s, "config")...))
	want := []string{
		"config.headers[0].name", "config.headers[0].value", "config.odd[-1]", "config.odd[01]", "config.odd[1", "config.odd[x]",
		"config.steps[0].config.headers[0].name", "config.steps[0].name", "config.steps[0].type",
		"config.steps[1].config.headers[0].name", "config.steps[1].name", "config.steps[1].type", "name",
	}
	if got := slices.Sorted(maps.Keys(s.Values)); !slices.Equal(got, want) {
		t.Errorf("names %q,\nwant  %q", got, want)
	}
	if s.Get("config.steps[1].name") != "x" || s.Get("config.headers[0].name") != "A" {
		t.Error("rows have changed places")
	}
	s.Set("config.steps[5].name", "new")
	if got := s.rows("config.steps"); !slices.Equal(got, []int{0, 1, 5}) {
		t.Errorf("steps after one was added: %v", got)
	}
	deep := &sheet{Values: url.Values{"x" + strings.Repeat("[0]", 80): {""}, strings.Repeat("x[0]", 100_000): {""}}}
	if got := deep.rowCount(); got != maxRowDepth {
		t.Errorf("%d rows in names of lists in lists", got)
	}
}

// BenchmarkSheet measures what the largest form costs until its JSON is made.
func BenchmarkSheet(b *testing.B) {
	for b.Loop() {
		s := newSheet()
		for i := range maxRows {
			for _, name := range []string{"name", "value", "other"} {
				s.Values.Set(fmt.Sprintf("config.headers[%d].%s", 2*i, name), "x")
			}
		}
		members := sheetTypes().members("https")
		s.tidy(emptyPairs(members, s, "config"))
		if config := configOf(members, s, "config"); len(config) == 0 {
			b.Fatal("it is empty")
		}
	}
}
