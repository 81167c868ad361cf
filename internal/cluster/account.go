// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"errors"
	"os"
	"os/user"
	"strconv"
)

// osAccount is the user that Postgres runs as where this process is root, as Postgres refuses root.
type osAccount struct{ uid, gid int }

// postgresAccount returns nil where this process is not root.
func postgresAccount() (*osAccount, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // the current user
	}
	found, err := user.Lookup("postgres")
	if err != nil {
		return nil, errors.New("this process is root, Postgres refuses to be, and this machine has no user postgres: install Debian's postgresql")
	}
	uid, uidErr := strconv.Atoi(found.Uid)
	gid, gidErr := strconv.Atoi(found.Gid)
	if err := errors.Join(uidErr, gidErr); err != nil {
		return nil, err
	}
	return &osAccount{uid, gid}, nil
}

// prefix is a command that runs another one as the account.
func (a *osAccount) prefix() []string {
	return []string{
		"setpriv", "--reuid=" + strconv.Itoa(a.uid), "--regid=" + strconv.Itoa(a.gid), "--clear-groups", "--pdeathsig=TERM", "--",
	}
}

// own makes the account the owner of paths.
func (a *osAccount) own(paths ...string) error {
	if a == nil {
		return nil
	}
	for _, path := range paths {
		if err := os.Chown(path, a.uid, a.gid); err != nil {
			return err
		}
	}
	return nil
}
