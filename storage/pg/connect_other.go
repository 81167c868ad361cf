// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package pg

import "syscall"

// limitUnacknowledged does nothing: only Linux has TCP_USER_TIMEOUT. Deadlines of queries
// bound what it would.
func limitUnacknowledged(string, string, syscall.RawConn) error { return nil }
