// SPDX-License-Identifier: Apache-2.0

// Command clients writes what the clients of TypeScript and Python have from the OpenAPI document: the types
// of its schemas, and a method for each operation. The rest of them, such as retries, pages and the alert
// stream, is written by hand.
//
// Usage: go run ./.ci/clients [--check]. With --check it writes nothing, and exits with 1 for a file that
// differs from what it would write.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

const document = "api/openapi.yaml"

// generated are the files, in order, and what makes each of them.
var generated = []struct {
	path string
	make func(*api) string
}{
	{"clients/typescript/src/types.gen.ts", typescriptTypes},
	{"clients/typescript/src/operations.gen.ts", typescriptOperations},
	{"clients/python/vigil_client/types.py", pythonTypes},
	{"clients/python/vigil_client/_operations.py", pythonOperations},
}

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

func run(args []string, stderr io.Writer) int {
	check := len(args) == 1 && args[0] == "--check"
	if len(args) > 0 && !check {
		fmt.Fprintln(stderr, "usage: go run ./.ci/clients [--check]")
		return 2
	}
	a, err := read(document)
	if err != nil {
		fmt.Fprintln(stderr, "clients:", err)
		return 2
	}
	rc := 0
	for _, file := range generated {
		want := []byte(file.make(a))
		have, err := os.ReadFile(file.path)
		switch {
		case err != nil && !errors.Is(err, os.ErrNotExist):
			fmt.Fprintln(stderr, "clients:", err)
			return 2
		case bytes.Equal(have, want):
		case check:
			fmt.Fprintf(stderr, "clients: %s is behind %s: run make clients\n", file.path, document)
			rc = 1
		default:
			if err := os.WriteFile(file.path, want, 0o644); err != nil {
				fmt.Fprintln(stderr, "clients:", err)
				return 2
			}
		}
	}
	return rc
}
