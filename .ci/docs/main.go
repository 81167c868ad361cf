// SPDX-License-Identifier: Apache-2.0

// Docs writes the guide, which the platform serves at /docs/guide, as files for any web server:
//
//	go run ./.ci/docs [directory]
//
// The directory is replaced; it is bin/docs without an argument.
package main

import (
	"fmt"
	"os"

	"github.com/vigil-monitor/vigil/docs"
	"github.com/vigil-monitor/vigil/internal/guide"
)

func main() {
	dir := "bin/docs"
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if err := write(dir); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
	fmt.Println("the guide is in", dir)
}

func write(dir string) error {
	built, err := guide.Build(docs.Pages, guide.Options{Repository: guide.Repository, Base: "/"})
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir + "/index.html"); err == nil { // what an earlier run wrote, and not another directory
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return guide.WriteTo(dir, built)
}
