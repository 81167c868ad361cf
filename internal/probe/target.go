// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
)

const maxURLBytes = 2048

// parseHost reads a host member: a name or an IP address, without port, scheme
// or path. It returns what is dialled: an ASCII name, or an address without
// brackets. The port is only for the guard; 0 stands for none.
func parseHost(guard *egress.Guard, path, given string, port int) (string, error) {
	bare := given
	if strings.HasPrefix(given, "[") && strings.HasSuffix(given, "]") {
		bare = given[1 : len(given)-1]
	}
	if addr, err := netip.ParseAddr(bare); err == nil {
		bare = addr.String()
	} else if bare, err = parseName(path, given); err != nil {
		return "", err
	}
	if err := guard.CheckHost(bare, uint16(port)); err != nil { //nolint:gosec // ports are in range by their tags
		return "", vigil.Invalid(path, "%s", err)
	}
	return bare, nil
}

func parseName(path, given string) (string, error) {
	switch {
	case given == "":
		return "", vigil.Invalid(path, "must name a host")
	case strings.Contains(given, "://"):
		return "", vigil.Invalid(path, "must be a host name or an IP address, not a URL")
	case strings.Contains(given, "@"):
		return "", vigil.Invalid(path, "must be a host name or an IP address, without user name or password")
	case strings.Contains(given, ":"):
		return "", vigil.Invalid(path, "must be a host name or an IP address, without a port")
	}
	name, err := idna.Lookup.ToASCII(strings.TrimSuffix(given, "."))
	if err != nil && isASCII(given) {
		name, err = strings.ToLower(strings.TrimSuffix(given, ".")), nil // underscores are not for IDNA, but are in use
	}
	if err != nil || !validName(name) {
		return "", vigil.Invalid(path, "is not a valid host name")
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	if looksNumeric(last) {
		return "", vigil.Invalid(path, "is not a valid host: an IPv4 address is written as four decimal numbers, such as 192.0.2.1")
	}
	return name, nil
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

// validName reports whether a name could be looked up: labels of 1 to 63
// letters, digits, hyphens and underscores, 253 characters in all.
func validName(name string) bool {
	if name == "" || len(name) > 253 {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for _, c := range label {
			if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_') {
				return false
			}
		}
	}
	return true
}

// looksNumeric reports whether the last label of a name is a number, which some
// resolvers would read as an address (2130706433, 0x7f000001, 127.1).
func looksNumeric(label string) bool {
	if len(label) > 1 && (label[:2] == "0x" || label[:2] == "0X") {
		return true
	}
	_, err := strconv.ParseUint(label, 10, 64)
	return err == nil || strings.Trim(label, "0123456789") == ""
}

// parseURL reads a URL member of one of the schemes. What may not stand in it as it is, such as a space or a
// letter outside ASCII, is encoded as browsers do (egress.EncodeURL).
func parseURL(guard *egress.Guard, path, given string, schemes ...string) (*url.URL, error) {
	if given == "" || len(given) > maxURLBytes {
		return nil, vigil.Invalid(path, "must be a URL of at most %d characters", maxURLBytes)
	}
	parsed, err := egress.ParseURL(given)
	if err != nil || parsed.Opaque != "" {
		return nil, vigil.Invalid(path, "is not a valid URL")
	}
	known := false
	for _, scheme := range schemes {
		known = known || parsed.Scheme == scheme
	}
	if !known {
		return nil, vigil.Invalid(path, "must begin with %s://", strings.Join(schemes, ":// or "))
	}
	if parsed.User != nil {
		return nil, vigil.Invalid(path, "must not hold a user name or password; give them in config.basic_auth")
	}
	port, err := urlPort(parsed)
	if err != nil {
		return nil, vigil.Invalid(path, "has a port that is not a number from 1 to 65535")
	}
	host, err := parseHost(guard, path, parsed.Hostname(), port)
	if err != nil {
		return nil, err
	}
	parsed.Host = rejoin(host, parsed.Port())
	parsed.Fragment, parsed.RawFragment = "", ""
	return parsed, nil
}

// urlPort returns the port that a URL leads to.
func urlPort(u *url.URL) (int, error) {
	switch text := u.Port(); {
	case text == "" && strings.HasSuffix(u.Host, ":"):
		return 0, strconv.ErrSyntax
	case text != "":
		port, err := strconv.ParseUint(text, 10, 16)
		if err == nil && port == 0 {
			err = strconv.ErrRange
		}
		return int(port), err
	case u.Scheme == "http", u.Scheme == "ws":
		return 80, nil
	}
	return 443, nil
}

func rejoin(host, port string) string {
	switch {
	case port != "":
		return net.JoinHostPort(host, port)
	case strings.Contains(host, ":"):
		return "[" + host + "]"
	}
	return host
}
