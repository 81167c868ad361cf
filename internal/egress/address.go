// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"unicode"
)

// scheme is how an address begins that is not relative (RFC 3986, section 3.1).
var scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*:`)

// EncodeURL writes an address, also a relative one, with percent signs where browsers do (URL Standard, section
// 1.3): spaces, letters outside ASCII and the characters that may stand in no address. A backslash in the
// path is a slash. Unlike them it also encodes a percent sign that begins no escape (RFC 3986, section 2.4),
// which most servers refuse. What is encoded already stays as it is; the fragment, which is never sent,
// goes.
func EncodeURL(given string) string {
	given, _, _ = strings.Cut(given, "#")
	start := len(scheme.FindString(given))
	path, query, asks := strings.Cut(given[start:], "?")
	path = strings.ReplaceAll(path, `\`, "/")
	host := ""
	if strings.HasPrefix(path, "//") {
		end := strings.IndexByte(path[2:], '/')
		if end < 0 {
			end = len(path) - 2
		}
		host, path = path[:2+end], path[2+end:]
	}
	encoded := given[:start] + host + encode(path, " \"<>`{}^|", true)
	if asks {
		encoded += "?" + encode(query, " \"<>'", false)
	}
	return encoded
}

// ParseURL reads an address as EncodeURL writes it. Control characters are refused, and so is a backslash before
// the path: programs do not agree on which host such an address leads to.
func ParseURL(given string) (*url.URL, error) {
	before, _, _ := strings.Cut(strings.Replace(given, "//", "", 1), "/")
	if strings.ContainsFunc(given, unicode.IsControl) || strings.Contains(before, `\`) {
		return nil, errors.New("egress: not an address")
	}
	return url.Parse(EncodeURL(given))
}

// encode encodes the bytes of a set, and those that are no visible ASCII.
func encode(text, set string, percent bool) string {
	const digits = "0123456789ABCDEF"
	var out strings.Builder
	for i := range len(text) {
		c := text[i]
		switch {
		case c == '%' && percent && !(i+2 < len(text) && isHex(text[i+1]) && isHex(text[i+2])):
			out.WriteString("%25")
		case c < ' ' || c > '~' || strings.IndexByte(set, c) >= 0:
			out.Write([]byte{'%', digits[c>>4], digits[c&15]})
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// ServerName is a host as TLS asks for it and as certificates have it: an address without its zone, which
// means something on this machine only (RFC 6874, section 1).
func ServerName(host string) string {
	if addr, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil && addr.Zone() != "" {
		return addr.WithZone("").String()
	}
	return host
}

// WithEncodedRedirects makes a client follow redirects to addresses that are not encoded, as browsers do.
func WithEncodedRedirects(next http.RoundTripper) http.RoundTripper { return encodedRedirects{next} }

type encodedRedirects struct{ http.RoundTripper }

// RoundTrip encodes the address of a redirect. Tabs and line breaks are no part of it, nor are spaces around it.
func (r encodedRedirects) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.RoundTripper.RoundTrip(request)
	if err != nil {
		return response, err
	}
	switch response.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		if to := response.Header.Get("Location"); to != "" {
			to = strings.NewReplacer("\t", "", "\r", "", "\n", "").Replace(strings.TrimSpace(to))
			response.Header.Set("Location", EncodeURL(to))
		}
	}
	return response, nil
}
