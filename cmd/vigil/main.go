// SPDX-License-Identifier: Apache-2.0

// Command vigil is the whole platform: `vigil up` runs all of it in one process,
// the other commands run its parts or administer it. Each command has a file.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}
