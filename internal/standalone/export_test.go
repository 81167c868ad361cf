// SPDX-License-Identifier: Apache-2.0

package standalone

import "os/user"

// AccountUnderRoot returns the name of the account that a process of root runs the Postgres
// of a cluster as, on a machine with the users of lookup, where add makes one.
func AccountUnderRoot(
	cluster string, lookup func(name string) (*user.User, error), add func(name string) error,
) (string, error) {
	chosen, err := accountUnderRoot(cluster, lookup, add)
	return chosen.name, err
}

// Reachable returns whether a user with these ids may use a file.
func Reachable(path string, uid, gid uint32) bool {
	return account{uid: uid, gid: gid, drop: true}.mayUse(path)
}
