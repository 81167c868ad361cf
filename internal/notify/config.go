// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/config"
	"github.com/vigil-monitor/vigil/internal/egress"
)

// maxConfigBytes bounds a config as text: a template of a body may double when it is written
// as JSON.
const maxConfigBytes = 192 << 10

// maxURL bounds an address, in bytes.
const maxURL = 2048

// parseURL reads the address of a receiver. Credentials in it are refused: an
// address is kept and shown as it is.
func (env *environment) parseURL(path, given string) (*url.URL, error) {
	u, err := egress.ParseURL(given)
	switch {
	case len(given) > maxURL:
		return nil, vigil.Invalid(path, "must have at most %d characters", maxURL)
	case err != nil || u.Opaque != "":
		return nil, vigil.Invalid(path, "is not a valid URL")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, vigil.Invalid(path, "must begin with https:// or http://")
	case u.User != nil:
		return nil, vigil.Invalid(path, "must not hold a user name or password")
	}
	port, err := strconv.ParseUint(portOf(u), 10, 16)
	if err != nil || port == 0 || strings.HasSuffix(u.Host, ":") {
		return nil, vigil.Invalid(path, "has a port that is not a number from 1 to 65535")
	}
	host := asDialled(u.Hostname())
	if _, err := netip.ParseAddr(host); err != nil && !validName(host) {
		return nil, vigil.Invalid(path, "must name a host")
	}
	if err := env.guard.CheckHost(host, uint16(port)); err != nil {
		return nil, vigil.Invalid(path, "%s", err)
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// asDialled is a host as it is looked up: digits of another script make an
// address, too.
func asDialled(host string) string {
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		return ascii
	}
	return host // an IPv6 address, or a name that is not for IDNA, such as one with an underscore
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// validName reports whether a host can be a name. One that ends in a number is
// an address in a spelling that some resolvers read and others do not.
func validName(host string) bool {
	last := strings.TrimSuffix(host, ".")
	last = last[strings.LastIndexByte(last, '.')+1:]
	numeric := strings.Trim(last, "0123456789") == "" || strings.HasPrefix(strings.ToLower(last), "0x")
	return host != "" && len(host) <= 253 && !numeric && !strings.ContainsFunc(host, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"<>\^{|}%@`, r)
	})
}

// checkVisible refuses a member of the config that is not visible.
func checkVisible(member, text string) error {
	if visible(text) {
		return nil
	}
	return vigil.Invalid(config.Member("config", member), "must be made of printable characters without spaces")
}

// visible reports whether a text is printable ASCII without spaces.
func visible(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}
