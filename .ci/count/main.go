// SPDX-License-Identifier: Apache-2.0

// Command count reads what `go test -json` prints and shows what a person needs of it: a
// line for each package, what failed tests printed, and at the end the ten slowest tests.
// It exits with 1 when a test or a package failed, or when no test passed.
//
// A test with subtests is not counted itself: its subtests are the facts.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

// event is the part of a line of `go test -json` that is used.
type event struct {
	Action     string
	Package    string
	ImportPath string // of build output
	Test       string
	Output     string
	Elapsed    float64 // seconds
}

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("count", flag.ContinueOnError)
	flags.SetOutput(stderr)
	verbose := flags.Bool("v", false, "show what tests printed that passed, too")
	counts := flags.String("counts", "", "`file` to write \"passed failed skipped\" to, and each failed test on a line of its own below")
	keep := flags.String("keep", "", "`directory` to write what each failed test printed to")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		fmt.Fprintln(stderr, "usage: go test -json ./... | count [-v] [-counts file] [-keep directory]")
		return 2
	}
	t := newTally(stdout, *verbose)
	lines := bufio.NewScanner(stdin)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		t.line(lines.Bytes())
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(stderr, "count:", err)
		return 1
	}
	t.endAll()
	t.showSlowest(10)
	passed, failed, skipped := t.counts()
	if err := t.write(*counts, *keep, fmt.Sprintf("%d %d %d\n", passed, len(failed), skipped), failed); err != nil {
		fmt.Fprintln(stderr, "count:", err)
		return 1
	}
	if len(failed) > 0 || passed == 0 {
		return 1
	}
	return 0
}

// test names a test, or with an empty name the package itself.
type test struct{ pkg, name string }

func (t test) String() string { return strings.TrimSpace(t.pkg + " " + t.name) }

// parent returns the test that a subtest belongs to.
func (t test) parent() (test, bool) {
	i := strings.LastIndexByte(t.name, '/')
	if i < 0 {
		return test{}, false
	}
	return test{t.pkg, t.name[:i]}, true
}

// seen is what is known about a test.
type seen struct {
	output   strings.Builder
	result   string // pass, fail or skip; empty while it runs
	children bool
	parallel bool
	own      float64 // seconds, without those of subtests that it waited for
}

// tally is what was seen so far.
type tally struct {
	out     io.Writer
	verbose bool
	tests   map[test]*seen
	cached  map[string]bool // packages whose tests did not run
}

func newTally(out io.Writer, verbose bool) *tally {
	return &tally{out: out, verbose: verbose, tests: map[test]*seen{}, cached: map[string]bool{}}
}

func (t *tally) of(one test) *seen {
	if t.tests[one] == nil {
		t.tests[one] = &seen{}
	}
	return t.tests[one]
}

func (t *tally) line(line []byte) {
	var e event
	if json.Unmarshal(line, &e) != nil || e.Action == "" {
		fmt.Fprintf(t.out, "%s\n", line) // make and the compiler speak too
		return
	}
	one := test{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		fmt.Fprint(t.out, e.Output)
	case "run":
		if parent, ok := one.parent(); ok {
			t.of(parent).children = true
		}
	case "pause":
		t.of(one).parallel = true
	case "output":
		if e.Test == "" && strings.HasSuffix(e.Output, "\t(cached)\n") {
			t.cached[e.Package] = true
		}
		t.of(one).output.WriteString(e.Output)
	case "pass", "fail", "skip":
		t.end(one, e)
	}
}

// end shows what a failed test or package printed, and one line a package.
func (t *tally) end(one test, e event) {
	s := t.of(one)
	s.result = e.Action
	s.own += e.Elapsed
	// A subtest that is not parallel is part of the time of its parent.
	if parent, ok := one.parent(); ok && !s.parallel {
		t.of(parent).own -= e.Elapsed
	}
	if e.Action == "fail" || t.verbose {
		fmt.Fprint(t.out, s.output.String())
	} else if e.Action == "skip" && e.Test != "" {
		fmt.Fprintf(t.out, "skip %s\n%s", one, said(s.output.String()))
	}
	if e.Action != "fail" {
		s.output.Reset()
	}
	if e.Test == "" {
		took := fmt.Sprintf("%.1fs", e.Elapsed)
		if t.cached[e.Package] {
			took = "(cached)"
		}
		fmt.Fprintf(t.out, "%-4s %s %s\n", e.Action, e.Package, took)
	}
}

// said is what a test printed itself, without the lines of go test.
func said(output string) string {
	text := ""
	for line := range strings.Lines(output) {
		if strings.HasPrefix(line, "    ") && !strings.HasPrefix(strings.TrimSpace(line), "--- ") {
			text += line
		}
	}
	return text
}

// endAll fails the tests that never ended: their process was killed or panicked, and what
// it printed last is theirs.
func (t *tally) endAll() {
	for one, s := range t.tests {
		if s.result == "" && one.name != "" && !s.children {
			t.end(one, event{Action: "fail"})
		}
	}
}
