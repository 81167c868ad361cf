// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
)

const resolvConf = "/etc/resolv.conf"

// NameServers are the addresses of the machine's own name servers, as IP:port.
// They are the operator's choice and may be private.
func (g *Guard) NameServers() []string {
	if g.nameServer != "" {
		return []string{g.nameServer}
	}
	file, err := os.Open(resolvConf)
	if err != nil {
		return []string{"127.0.0.1:53"}
	}
	defer func() { _ = file.Close() }()
	var found []string
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 || fields[0] != "nameserver" {
			continue
		}
		if addr, err := netip.ParseAddr(fields[1]); err == nil {
			found = append(found, netip.AddrPortFrom(addr, 53).String())
		}
	}
	if len(found) == 0 {
		return []string{"127.0.0.1:53"} // what the resolver itself does
	}
	return found
}

// DialNameServer connects to one of the NameServers, wherever it is; any other
// address is an error. The connection ends with ctx.
func (g *Guard) DialNameServer(ctx context.Context, network, address string) (net.Conn, error) {
	if !slices.Contains(g.NameServers(), address) {
		return nil, fmt.Errorf("egress: %s is not a name server of this machine", address)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	return bind(ctx, conn), nil
}
