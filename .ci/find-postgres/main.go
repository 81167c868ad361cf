// SPDX-License-Identifier: Apache-2.0

// Find-postgres prints the directory of the Postgres programs that Vigil and its
// tests would use, and fails when there are none.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/vigil-monitor/vigil/internal/pgbin"
)

func main() {
	found, err := pgbin.Find(context.Background(), nil, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(found.Dir)
}
