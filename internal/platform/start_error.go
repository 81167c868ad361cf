// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/vigil-monitor/vigil/internal/instance"
	"github.com/vigil-monitor/vigil/internal/standalone"
)

// runsAlready says where the platform is reached that holds a data directory.
func runsAlready(err error) error {
	held, ok := errors.AsType[*standalone.InUseError](err)
	if !ok {
		return err
	}
	found, missing := instance.Running(held.Path)
	if missing != nil {
		return err // it starts or stops just now, or is a restore
	}
	return fmt.Errorf( //nolint:staticcheck // a name
		"Vigil runs already on the data directory %s: %s, process %d. Use that one, stop it (kill %d), "+
			"or start another: VIGIL_DATA_DIR=DIR VIGIL_LISTEN=127.0.0.1:PORT vigil up",
		held.Path,
		found.APIURL,
		found.PID,
		found.PID,
	)
}

// ListenError explains why an address cannot be listened on, and what helps. Its setting is
// the one that names the address.
func ListenError(address HostPort, setting string, err error) error {
	remedy := fmt.Sprintf("set %s to an address that is free", setting)
	switch {
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		remedy = fmt.Sprintf("a port below 1024 needs more than a plain user has: set %s to a port from 1024 on, such as 127.0.0.1:8080, "+
			"with a reverse proxy in front of it, or allow it to the program with `sudo setcap cap_net_bind_service=+ep $(command -v vigil)`",
			setting)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		remedy = fmt.Sprintf("this machine does not have the address: set %s to one that it has, or to :PORT for all", setting)
	}
	return fmt.Errorf("cannot listen on %s: %w; %s", address, UnwrapNet(err), remedy)
}
