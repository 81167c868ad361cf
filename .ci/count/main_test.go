// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// lines is what go test -json prints of: a package with a parent, of which one of two
// parallel subtests fails; one that does not build; one that did not run again.
const lines = `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestA/Good"}
{"Action":"pause","Package":"p","Test":"TestA/Good"}
{"Action":"run","Package":"p","Test":"TestA/Bad"}
{"Action":"output","Package":"p","Test":"TestA/Bad","Output":"    a_test.go:7: is wrong\n"}
{"Action":"fail","Package":"p","Test":"TestA/Bad","Elapsed":3}
{"Action":"cont","Package":"p","Test":"TestA/Good"}
{"Action":"output","Package":"p","Test":"TestA/Good","Output":"waited 20.0 s until: it rains\n"}
{"Action":"pass","Package":"p","Test":"TestA/Good","Elapsed":20}
{"Action":"fail","Package":"p","Test":"TestA","Elapsed":5}
{"Action":"run","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:3: needs an engine\n"}
{"Action":"output","Package":"p","Test":"TestB","Output":"--- SKIP: TestB (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestB","Elapsed":0}
{"Action":"fail","Package":"p","Elapsed":25}
make: a word
{"Action":"build-output","ImportPath":"q","Output":"q.go:1: undefined\n"}
{"Action":"fail","Package":"q","Elapsed":0}
{"Action":"run","Package":"r","Test":"TestC"}
{"Action":"pass","Package":"r","Test":"TestC","Elapsed":99}
{"Action":"output","Package":"r","Output":"ok  \tr\t(cached)\n"}
{"Action":"pass","Package":"r","Elapsed":0}
`

func TestCount(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	counts, keep := filepath.Join(dir, "counts"), filepath.Join(dir, "kept")
	var out, problems bytes.Buffer
	if code := run([]string{"-counts", counts, "-keep", keep}, strings.NewReader(lines), &out, &problems); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	const want = `    a_test.go:7: is wrong
skip p TestB
    b_test.go:3: needs an engine
fail p 25.0s
make: a word
q.go:1: undefined
fail q 0.0s
pass r (cached)
The slowest tests:
    20.0 s  p TestA/Good
     3.0 s  p TestA/Bad
     2.0 s  p TestA
`
	if out.String() != want || problems.Len() > 0 {
		t.Errorf("shows\n%s%s\nwant\n%s", &out, &problems, want)
	}
	kept := filepath.Join(keep, "p_TestA.Bad.txt")
	text, err := os.ReadFile(counts)
	if want := "2 2 1\np TestA/Bad\t" + kept + "\nq\t" + filepath.Join(keep, "q.txt") + "\n"; err != nil || string(text) != want {
		t.Errorf("the counts are %q, %v, want %q", text, err, want)
	}
	if text, err = os.ReadFile(kept); err != nil || string(text) != "    a_test.go:7: is wrong\n" {
		t.Errorf("kept %q, %v", text, err)
	}

	out.Reset()
	run([]string{"-v"}, strings.NewReader(lines), &out, &problems)
	if !strings.Contains(out.String(), "waited 20.0 s until: it rains\n") {
		t.Errorf("-v shows\n%s", &out)
	}
}

// TestEndsWithout tests that a test that never ended is a failure of its own, with what it
// printed, and that a run without a test is none that passed.
func TestEndsWithout(t *testing.T) {
	t.Parallel()
	const hung = `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"panic: test timed out\n"}
{"Action":"fail","Package":"p","Elapsed":60}
`
	var out, problems bytes.Buffer
	counts := filepath.Join(t.TempDir(), "counts")
	if code := run([]string{"-counts", counts}, strings.NewReader(hung), &out, &problems); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if text, err := os.ReadFile(counts); err != nil || string(text) != "0 1 0\np TestA\t\n" {
		t.Errorf("the counts are %q, %v", text, err)
	}
	if !strings.Contains(out.String(), "panic: test timed out\n") {
		t.Errorf("shows\n%s", &out)
	}
	if code := run(nil, strings.NewReader(""), &out, &problems); code != 1 {
		t.Errorf("exit code %d without a test, want 1", code)
	}
}
