// SPDX-License-Identifier: Apache-2.0

package standalone

import "os/user"

// AccountUnderRoot returns the name of the account that a process of root runs the Postgres
// of a cluster as, on a machine with the users of lookup.
func AccountUnderRoot(cluster string, lookup func(name string) (*user.User, error)) (string, error) {
	chosen, err := accountUnderRoot(cluster, lookup)
	return chosen.name, err
}
