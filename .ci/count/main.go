// Command count reads what `go test -json` prints, shows what a person needs of
// it, and writes how many tests passed, failed and were skipped to the file
// that it is given. It exits with 1 when a test or a package failed.
//
// A test with subtests is not counted itself: its subtests are the facts.
package main

import (
	"bufio"
	"encoding/json"
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
	if len(args) != 1 {
		fmt.Fprintln(stderr, "usage: go test -json ./... | count <file>")
		return 2
	}
	t := tally{out: stdout, output: map[string]*strings.Builder{}, parents: map[string]bool{}, results: map[string]string{}}
	lines := bufio.NewScanner(stdin)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		t.line(lines.Bytes())
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(stderr, "count:", err)
		return 1
	}
	passed, failed, skipped := t.counts()
	summary := fmt.Sprintf("%d %d %d\n", passed, failed, skipped)
	if err := os.WriteFile(args[0], []byte(summary), 0o600); err != nil {
		fmt.Fprintln(stderr, "count:", err)
		return 1
	}
	if failed > 0 || passed == 0 {
		return 1
	}
	return 0
}

// tally is what was seen so far. Keys are "<package> <test>"; the package's own
// lines have no test.
type tally struct {
	out     io.Writer
	output  map[string]*strings.Builder // of what has not ended
	parents map[string]bool             // tests that have subtests
	results map[string]string           // pass, fail or skip
}

func (t *tally) line(line []byte) {
	var e event
	if json.Unmarshal(line, &e) != nil || e.Action == "" {
		fmt.Fprintf(t.out, "%s\n", line) // make and the compiler speak too
		return
	}
	key := e.Package + " " + e.Test
	switch e.Action {
	case "build-output":
		fmt.Fprint(t.out, e.Output)
	case "run":
		if i := strings.LastIndexByte(e.Test, '/'); i >= 0 {
			t.parents[e.Package+" "+e.Test[:i]] = true
		}
	case "output":
		if t.output[key] == nil {
			t.output[key] = &strings.Builder{}
		}
		t.output[key].WriteString(e.Output)
	case "pass", "fail", "skip":
		t.end(key, e)
	}
}

// end shows what a failed test or package printed, and one line a package.
func (t *tally) end(key string, e event) {
	t.results[key] = e.Action
	if said := t.output[key]; said != nil && e.Action == "fail" {
		fmt.Fprint(t.out, said.String())
	}
	delete(t.output, key)
	if e.Test == "" {
		fmt.Fprintf(t.out, "%-4s %s %.1fs\n", e.Action, e.Package, e.Elapsed)
	}
}

// counts leaves out parents and packages, except a package that failed without
// a failed test: it did not build, or it panicked outside one. A parent that
// failed by itself counts too.
func (t *tally) counts() (passed, failed, skipped int) {
	below := map[string]bool{} // parents and packages with a failure under them
	for key, result := range t.results {
		pkg, test, _ := strings.Cut(key, " ")
		if result != "fail" || test == "" {
			continue
		}
		below[pkg+" "] = true
		for i := strings.LastIndexByte(test, '/'); i >= 0; i = strings.LastIndexByte(test, '/') {
			test = test[:i]
			below[pkg+" "+test] = true
		}
	}
	for key, result := range t.results {
		whole := strings.HasSuffix(key, " ") || t.parents[key]
		switch {
		case result == "fail" && (!whole || !below[key]):
			failed++
		case whole:
		case result == "pass":
			passed++
		case result == "skip":
			skipped++
		}
	}
	return passed, failed, skipped
}
