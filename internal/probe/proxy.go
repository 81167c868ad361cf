// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
)

// parseProxy reads the members proxy and proxy_auth. What passes through a proxy goes where it
// resolves names to, so the place of secrets is the URL and the proxy.
func (r *httpRequest) parseProxy(guard *egress.Guard) error {
	if r.Proxy == "" {
		if r.ProxyAuth != nil {
			return vigil.Invalid("config.proxy_auth", "needs config.proxy")
		}
		return nil
	}
	if given, err := url.Parse(r.Proxy); err == nil && given.User != nil {
		return vigil.Invalid("config.proxy", "must not hold a user name or password; give them in config.proxy_auth")
	}
	proxy, err := parseURL(guard, "config.proxy", r.Proxy, "http")
	if err != nil {
		return err
	}
	if strings.Trim(proxy.Path, "/") != "" || proxy.RawQuery != "" {
		return vigil.Invalid("config.proxy", "must be scheme, host and port, such as http://proxy.example.com:3128")
	}
	if auth := r.ProxyAuth; auth != nil {
		if strings.Contains(auth.Username, ":") {
			return vigil.Invalid("config.proxy_auth.username", "must not contain a colon")
		}
		proxy.User = url.UserPassword(auth.Username, auth.Password)
		r.hidden = r.hidden.With(redactable(egress.BasicCredentials(auth.Username, auth.Password))...)
	}
	r.proxy = proxy
	return nil
}

// client returns how the client of the request speaks.
func (r *httpRequest) client() egress.ClientOptions {
	return egress.ClientOptions{
		TLS:         r.secure,
		NoRedirects: !r.FollowRedirects,
		IPVersion:   ipVersion(r.IPVersion),
		UserAgent:   userAgent,
		Home:        homeOf(r.url),
		Proxy:       r.proxy,

		AcceptEncoding: r.header.Get("Accept-Encoding"),
		HTTP2:          r.header.Get("Upgrade") == "", // which HTTP/2 does not have
	}
}

// homeOf is the host and port of a URL that was read.
func homeOf(u *url.URL) string {
	port, err := urlPort(u)
	if err != nil {
		return ""
	}
	return net.JoinHostPort(u.Hostname(), strconv.Itoa(port))
}
