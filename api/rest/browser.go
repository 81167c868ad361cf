// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil"
)

// PrivateTargets says whether probes may reach private addresses. That is safe only
// while other machines, and pages of other sites in a browser, cannot use the API.
type PrivateTargets interface {
	Open() bool
	// Close refuses private addresses until the process ends. The reason is a sentence
	// for operators; the first one counts.
	Close(reason string)
	// Closed returns the reason of Close, "" before it.
	Closed() string
}

// GuardPrivate wraps next so that, while private targets are open, a browser cannot be
// used to reach them: only a loopback Host is served, which a page that was bound to
// another name (DNS rebinding) does not have, and writes of pages of other origins are
// refused. A request that came through an unknown proxy closes private targets, since
// others may be behind it. Paths that begin with one of exempt have a rule for origins
// of their own.
func GuardPrivate(next http.Handler, targets PrivateTargets, trusted []netip.Prefix, exempt ...string) http.Handler {
	if targets == nil {
		return next
	}
	origins := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if targets.Open() {
			noticeProxy(r, targets, trusted)
		}
		if targets.Open() {
			err := checkHost(r)
			if err == nil && !slices.ContainsFunc(exempt, func(path string) bool { return strings.HasPrefix(r.URL.Path, path) }) {
				err = checkOrigin(origins, r)
			}
			if err != nil {
				WriteError(r.Context(), w, err)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// noticeProxy closes private targets when a request has a header of a proxy that is not
// trusted.
func noticeProxy(r *http.Request, targets PrivateTargets, trusted []netip.Prefix) {
	for name := range r.Header {
		if !strings.HasPrefix(name, "X-Forwarded-") && name != "Forwarded" {
			continue
		}
		peer, err := netip.ParseAddrPort(r.RemoteAddr)
		if err == nil && isTrusted(peer.Addr().Unmap().WithZone(""), trusted) {
			return
		}
		targets.Close(fmt.Sprintf("A request from %s had the header %s, so other machines may reach the API through a proxy. "+
			"Private addresses are refused until the next start. Set VIGIL_PUBLIC_URL to the address of the proxy and "+
			"VIGIL_TRUSTED_PROXIES to its network, or keep the proxy away from the API.", peerHost(r), name))
		return
	}
}

func peerHost(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return "an unknown address"
	}
	return host
}

func checkHost(r *http.Request) error {
	if LoopbackHost(r.Host) {
		return nil
	}
	return vigil.Errorf(vigil.CodeForbidden, "The Host header does not name this machine. While private addresses can be checked, "+
		"the API answers only at localhost or a loopback address such as 127.0.0.1. "+
		"To serve another name, set VIGIL_PUBLIC_URL to it; private addresses are then refused.")
}

func checkOrigin(origins *http.CrossOriginProtection, r *http.Request) error {
	if origins.Check(r) == nil {
		return nil
	}
	return vigil.Errorf(vigil.CodeForbidden, "The request comes from a page of another origin. "+
		"While private addresses can be checked, the API takes changes only from its own pages and from programs.")
}

// LoopbackHost reports whether a Host header names this machine: localhost, a name below
// it, or a loopback address. An empty one, which no browser sends, does too.
func LoopbackHost(host string) bool {
	name := host
	if bare, _, err := net.SplitHostPort(host); err == nil {
		name = bare
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if name == "" || name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.Unmap().IsLoopback()
}

// crossSite reports whether a browser says that a request comes from a page of another
// site. Browsers that do not send Sec-Fetch-Site send Origin.
func crossSite(site, origin, host string) bool {
	if site != "" {
		return site == "cross-site" || site == "same-site"
	}
	if origin == "" {
		return false
	}
	from, err := url.Parse(origin)
	return err != nil || !strings.EqualFold(from.Host, host)
}
