// SPDX-License-Identifier: Apache-2.0

// Attest adds to a directory with the files of a release what says how they were made and what is in
// them: a bill of materials beside each archive, provenance.intoto.json and latest.json.
//
//	attest <directory> <version> <commit> <builder> <time in Unix seconds> [name=value of a build parameter ...]
//
// It reads CHANGELOG.md of the working directory, and asks go for its version and module cache.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/internal/releases/attest"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 5 {
		return fmt.Errorf("attest: <directory> <version> <commit> <builder> <time> [name=value ...]")
	}
	at, err := strconv.ParseInt(args[4], 10, 64)
	if err != nil {
		return fmt.Errorf("attest: the time %q: %w", args[4], err)
	}
	known, err := exec.Command("go", "env", "GOVERSION", "GOMODCACHE").Output()
	if err != nil {
		return fmt.Errorf("attest: go env: %w", err)
	}
	version, cache, _ := strings.Cut(strings.TrimSpace(string(known)), "\n")
	changelog, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return fmt.Errorf("attest: %w", err)
	}
	parameters := map[string]string{}
	for _, parameter := range args[5:] {
		name, value, _ := strings.Cut(parameter, "=")
		parameters[name] = value
	}
	return attest.Write(&attest.Release{
		Dir: args[0], Version: args[1], Commit: args[2], Builder: args[3], At: time.Unix(at, 0), Changelog: string(changelog),
		GoVersion: version, ModCache: cache, Parameters: parameters,
	})
}
