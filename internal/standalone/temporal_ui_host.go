// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package standalone

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// checkHosts serves only requests whose Host header names this machine, so that a page
// of another site cannot use the UI, which has no login, through a name of its own that
// it binds to this machine (DNS rebinding). Addresses and names without a dot cannot be
// such names. A UI that listens on loopback is served under loopback names only. The
// given hosts, in lower case and without ports, are served in any case.
func checkHosts(next http.Handler, loopbackOnly bool, hosts []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host := bareHost(r.Host); !slices.Contains(hosts, host) && !namesThisMachine(host, loopbackOnly) {
			http.Error(w, "The Host header does not name this machine. "+
				"Set VIGIL_TEMPORAL_UI_ORIGIN to the address of the Temporal UI to use it under this name.", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// namesThisMachine reports whether a host can only be this machine.
func namesThisMachine(host string, loopbackOnly bool) bool {
	if host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	switch {
	case err == nil:
		return !loopbackOnly || addr.Unmap().IsLoopback()
	case loopbackOnly:
		return false
	}
	return !strings.Contains(host, ".")
}

// bareHost is the host of a Host header: in lower case, without its port and without a
// dot at its end.
func bareHost(header string) string {
	host := header
	if bare, _, err := net.SplitHostPort(header); err == nil {
		host = bare
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}
