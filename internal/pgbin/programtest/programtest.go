// SPDX-License-Identifier: Apache-2.0

// Package programtest writes the programs that tests run.
//
// A file is not executed while any process has it open for writing: execve fails with
// "text file busy" (ETXTBSY, execve(2)). A test that closes the file and starts it has met
// that still when another test of the same process forked in between, since the child
// holds a copy of the descriptor until its own execve. [Write] keeps forks out while the
// file is open.
package programtest

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Write writes an executable file, and the folders above it that are missing. Programs that
// exist are replaced. Everyone may run it.
func Write(tb testing.TB, path string, content []byte) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // as the program
		tb.Fatal(err)
	}
	// os/exec takes the lock for writing from the fork to the child's execve.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, content, 0o755); err != nil { //nolint:gosec // a program, for the users that tests run it as
		tb.Fatal(err)
	}
}
