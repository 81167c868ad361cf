// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"net/netip"
	"net/url"
	"slices"

	"github.com/vigil-monitor/vigil"
)

// loseRoutes reports credentials and ways to the target that the check lacks: it is disabled. What
// Gatus does not use for the type of the endpoint changes nothing, and is no loss.
func (e *gatusEndpoint) loseRoutes(reason string) {
	web := e.kind == vigil.TypeHTTP || e.kind == vigil.TypeHTTPS
	rpc := e.kind == vigil.TypeGRPC
	for _, one := range []struct {
		name string
		used bool // by Gatus
	}{
		{"proxy-url", web},
		{"oauth2", web},
		{"identity-aware-proxy", web},
		{"kerberos", web},
		{"ntlm", web},
		{"tls", web || rpc},
		{"tunnel", web || rpc},
	} {
		if slices.Contains(e.client.used, one.name) || e.client.get(one.name) == nil {
			continue
		}
		if !one.used {
			e.client.take(one.name)
			continue
		}
		e.unreachable = true
		e.client.drop(reason, one.name)
	}
	if web || rpc || e.kind == vigil.TypeSMTPIMAP {
		e.loseResolver()
	} else {
		e.client.take("dns-resolver")
	}
}

// loseResolver reports a name server of the client. One that is not public may know names that no
// other knows.
func (e *gatusEndpoint) loseResolver() {
	given := e.client.marked("dns-resolver")
	if given == "" {
		return
	}
	address, err := url.Parse(given)
	public := false
	if err == nil {
		ip, err := netip.ParseAddr(address.Hostname())
		public = err == nil && ip.IsGlobalUnicast() && !ip.IsPrivate()
	}
	e.unreachable = e.unreachable || !public
	e.lose("client.dns-resolver: "+shown(given), "the name servers of the region find the host of the target")
}
