// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// account is the user that Postgres runs as; the zero value is the current user.
type account struct {
	name     string
	uid, gid uint32
	drop     bool
}

// clusterAccount chooses the user for a cluster directory: the current one or, because
// Postgres refuses to run as root, the owner of the cluster, else the account postgres, else
// one that is made for it. It is never nobody, which other services of the machine run as:
// each of them could read and change the database.
func clusterAccount(ctx context.Context, cluster string) (account, error) {
	if os.Geteuid() != 0 {
		return account{}, nil
	}
	if !rootCanDrop {
		return account{}, errors.New("Postgres refuses to run as root: run vigil as an ordinary user, or set DATABASE_URL")
	}
	return accountUnderRoot(cluster, user.Lookup, func(name string) error { return addUser(ctx, name) })
}

// ownAccount is the system user that is made for Postgres where there is no user postgres.
const ownAccount = "vigil-postgres"

// addUser makes a system user without a password and a shell, by the program of most
// distributions or that of BusyBox.
func addUser(ctx context.Context, name string) error {
	var failed error
	for _, args := range [][]string{
		{"/usr/sbin/useradd", "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin", name},
		{"/usr/sbin/adduser", "-S", "-D", "-H", "-s", "/sbin/nologin", name},
	} {
		if _, err := os.Stat(args[0]); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput() //nolint:gosec // one of the two above
		if err == nil {
			return nil
		}
		failed = errors.Join(failed, fmt.Errorf("%s: %w: %s", args[0], err, out))
	}
	return failed
}

// accountUnderRoot is clusterAccount for a process of root; add makes a user.
func accountUnderRoot(
	cluster string, lookup func(name string) (*user.User, error), add func(name string) error,
) (account, error) {
	owner, made := ownerOf(cluster)
	switch {
	case made && owner.name == "nobody":
		return account{}, fmt.Errorf("the Postgres cluster %s belongs to nobody, which other services of this machine run as: "+
			"give it to an account of its own (chown -R postgres %s)", cluster, cluster)
	case made && owner.uid != 0:
		return owner, nil
	}
	found, err := lookup("postgres")
	if err != nil {
		found, err = lookup(ownAccount)
	}
	if err != nil && add(ownAccount) == nil {
		found, err = lookup(ownAccount)
	}
	if err != nil {
		return account{}, errors.New("Postgres refuses to run as root and this machine has no user postgres to run it as: " +
			"make one (useradd --system postgres), run vigil as an ordinary user, or set DATABASE_URL")
	}
	uid, uidErr := strconv.ParseUint(found.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(found.Gid, 10, 32)
	if uidErr != nil || gidErr != nil || uid == 0 {
		return account{}, fmt.Errorf("the user %s cannot run Postgres: run vigil as an ordinary user, or set DATABASE_URL", found.Username)
	}
	return account{name: found.Username, uid: uint32(uid), gid: uint32(gid), drop: true}, nil
}

func ownerOf(path string) (account, bool) {
	info, err := os.Stat(path)
	if err != nil {
		return account{}, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return account{}, false
	}
	name := "the user with id " + strconv.FormatUint(uint64(stat.Uid), 10)
	if found, err := user.LookupId(strconv.FormatUint(uint64(stat.Uid), 10)); err == nil {
		name = found.Username
	}
	return account{name: name, uid: stat.Uid, gid: stat.Gid, drop: true}, true
}

// own makes the account the owner of a path.
func (a account) own(path string) error {
	if !a.drop {
		return nil
	}
	return os.Lchown(path, int(a.uid), int(a.gid))
}

// prepare sets up a command to run as this account, and returns the name by which the
// command can open each of the paths. As root that is a descriptor of an open file, so
// that an unprivileged Postgres can use a directory below one that it may not enter,
// such as /root.
//
// The child has its own process group, so that a Ctrl-C at the terminal does not reach
// it, and a parent death signal where the system supports one. The caller closes the
// returned files once the command has started.
func (a account) prepare(cmd *exec.Cmd, death syscall.Signal, paths ...string) (names []string, opened []*os.File, err error) {
	cmd.Env = childEnv()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr, death)
	if !a.drop {
		return paths, nil, nil
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: a.uid, Gid: a.gid}
	cmd.Dir = "/"
	for _, path := range paths {
		file, err := os.Open(path) //nolint:gosec // our own directory
		if err != nil {
			closeAll(opened)
			return nil, nil, err
		}
		names = append(names, descriptorPath(len(cmd.ExtraFiles)))
		cmd.ExtraFiles = append(cmd.ExtraFiles, file)
		opened = append(opened, file)
	}
	return names, opened, nil
}

// childEnv is the environment of Postgres. It inherits nothing, so that no secret is
// visible in its process.
func childEnv() []string { return []string{"LC_ALL=C", "TZ=UTC", "PATH=/usr/bin:/bin"} }

func closeAll(files []*os.File) {
	for _, file := range files {
		_ = file.Close()
	}
}
