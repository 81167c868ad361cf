// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// OwnerOf names the user who owns a file.
func OwnerOf(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "who runs `vigil up`"
	}
	known, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "who runs `vigil up`"
	}
	id := strconv.FormatUint(uint64(known.Uid), 10)
	if owner, err := user.LookupId(id); err == nil {
		return owner.Username
	}
	return id
}
