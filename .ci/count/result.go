// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// counts leaves out parents and packages, except a package that failed without a failed
// test: it did not build, or it panicked outside one. A parent that failed by itself
// counts too, and so does a test that never ended.
func (t *tally) counts() (passed int, failed []test, skipped int) {
	below := map[test]bool{} // parents and packages with a failure under them
	for one, s := range t.tests {
		if one.name == "" || s.result != "fail" {
			continue
		}
		below[test{one.pkg, ""}] = true
		for parent, ok := one.parent(); ok; parent, ok = parent.parent() {
			below[parent] = true
		}
	}
	for one, s := range t.tests {
		whole := one.name == "" || s.children
		switch {
		case s.result == "fail" && (!whole || !below[one]):
			failed = append(failed, one)
		case whole:
		case s.result == "pass":
			passed++
		case s.result == "skip":
			skipped++
		}
	}
	slices.SortFunc(failed, func(a, b test) int { return cmp.Compare(a.String(), b.String()) })
	return passed, failed, skipped
}

// showSlowest lists the tests that took longest in this run. The time of a test is its
// own: without its subtests, and without the time that a parallel one waited for its turn.
func (t *tally) showSlowest(most int) {
	var all []test
	for one, s := range t.tests {
		if one.name != "" && s.result != "" && s.own >= 0.1 && !t.cached[one.pkg] {
			all = append(all, one)
		}
	}
	if len(all) == 0 {
		return
	}
	slices.SortFunc(all, func(a, b test) int {
		return cmp.Or(cmp.Compare(t.tests[b].own, t.tests[a].own), cmp.Compare(a.String(), b.String()))
	})
	fmt.Fprintln(t.out, "The slowest tests:")
	for _, one := range all[:min(most, len(all))] {
		fmt.Fprintf(t.out, "%8.1f s  %s\n", t.tests[one].own, one)
	}
}

// write keeps the counts, and what failed with it, where the flags say. An empty name of
// the file or of the directory means nowhere.
func (t *tally) write(counts, keep, summary string, failed []test) error {
	text := &strings.Builder{}
	text.WriteString(summary)
	for _, one := range failed {
		at := ""
		if keep != "" {
			if err := os.MkdirAll(keep, 0o700); err != nil {
				return err
			}
			name := strings.NewReplacer("/", ".", " ", "_").Replace(one.String())
			at = filepath.Join(keep, name[:min(len(name), 200)]+".txt")
			if err := os.WriteFile(at, []byte(t.outputs(one)), 0o600); err != nil {
				return err
			}
		}
		fmt.Fprintf(text, "%s\t%s\n", one, at)
	}
	if counts == "" {
		return nil
	}
	return os.WriteFile(counts, []byte(text.String()), 0o600)
}

// outputs returns what a test printed and, below it, what the tests around it and its
// package did.
func (t *tally) outputs(one test) string {
	text := t.of(one).output.String()
	for parent, ok := one.parent(); ok; parent, ok = parent.parent() {
		text += t.of(parent).output.String()
	}
	if one.name != "" {
		text += t.of(test{one.pkg, ""}).output.String()
	}
	return text
}
