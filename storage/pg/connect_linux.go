// SPDX-License-Identifier: Apache-2.0

package pg

import (
	"errors"
	"strings"
	"syscall"
)

// optionUserTimeout is TCP_USER_TIMEOUT of linux/tcp.h, in milliseconds. Package syscall
// has it for some architectures only.
const optionUserTimeout = 0x12

// limitUnacknowledged ends a TCP connection whose peer does not acknowledge what was sent
// for tcpUserTimeout. It also bounds the handshake.
func limitUnacknowledged(network, _ string, raw syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var failed error
	err := raw.Control(func(fd uintptr) {
		failed = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, optionUserTimeout, int(tcpUserTimeout.Milliseconds()))
	})
	return errors.Join(err, failed)
}
