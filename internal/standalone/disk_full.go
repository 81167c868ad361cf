// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// codeDiskFull is a SQLSTATE of Postgres.
	codeDiskFull = "53100"

	// leastFree is how many bytes Postgres needs to write anything at all: with less, what
	// it says of its end is not in its log either.
	leastFree = 1 << 20

	mebibyte = 1 << 20
)

// fullError is the error of a start on a full disk.
type fullError struct {
	dir   string
	free  uint64
	cause error
}

func (e *fullError) Error() string {
	return fmt.Sprintf("the disk of the data directory %s is full, with %d MiB free (%v): "+
		"make room, 1 GiB for a new platform, or choose another directory with VIGIL_DATA_DIR", e.dir, e.free/mebibyte, e.cause)
}

func (e *fullError) Unwrap() error { return e.cause }

// ExplainFull returns the error of a start with a data directory. Where the disk is full, or
// the quota of its user is used up, it says so and what to do.
func ExplainFull(dir string, err error) error {
	if _, known := errors.AsType[*fullError](err); err == nil || known {
		return err
	}
	var of syscall.Statfs_t
	known := syscall.Statfs(dir, &of) == nil
	free := of.Bavail * uint64(of.Bsize) //nolint:gosec // its type is another one on each system
	if !saysFull(err) && (!known || free >= leastFree) {
		return err
	}
	return &fullError{dir: dir, free: free, cause: err}
}

// saysFull reports whether an error, or what a program of Postgres said, is that of a full
// disk.
func saysFull(err error) bool {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return true
	}
	if refusal, ok := errors.AsType[*pgconn.PgError](err); ok && refusal.Code == codeDiskFull {
		return true
	}
	return textSaysFull(err.Error())
}

// textSaysFull reports whether a text has the words of the system for a full disk.
func textSaysFull(said string) bool {
	said = strings.ToLower(said)
	return strings.Contains(said, syscall.ENOSPC.Error()) || strings.Contains(said, syscall.EDQUOT.Error())
}
