// SPDX-License-Identifier: Apache-2.0

// Command vigil is the whole platform: `vigil up` runs all of it in one process,
// the other commands run its parts or administer it. Each command has a file.
//
// main calls run (root.go), which makes the commands, runs the one that was asked for, and turns its
// error into an exit code and a sentence. A command that runs a part reads the settings
// (settings.go; only this package reads the environment) and hands them to package platform, which
// builds, starts and stops the parts: up.go, api.go, worker.go. One that administers opens what
// it needs itself: backup.go, restore.go, migrate.go, keys.go, deployment.go. The client commands are in
// package cli and call the API. The tests here run the commands of all documents as they stand there.
package main

import (
	"context"
	"os"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
}
