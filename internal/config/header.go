// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil"
)

// Bounds of the headers of a config; lengths in bytes.
const (
	maxHeaders     = 50
	maxHeaderName  = 256
	maxHeaderValue = 8 << 10
)

// Headers checks the headers that a config adds to a request and returns them by
// their canonical names. Those that say where a message or a connection ends are
// refused, and so are the reserved ones. Every error is a vigil.Invalid that
// names the header.
func Headers(path string, given map[string]string, reserved func(canonical string) bool) (http.Header, error) {
	if len(given) > maxHeaders {
		return nil, vigil.Invalid(path, "must have at most %d entries", maxHeaders)
	}
	header := make(http.Header, len(given)+2)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		at := Member(path, name)
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case !IsToken(name):
			return nil, vigil.Invalid(at, "is not a valid header name")
		case framing(canonical) || reserved(canonical):
			return nil, vigil.Invalid(at, "is set by the platform and cannot be given")
		case header[canonical] != nil:
			return nil, vigil.Invalid(at, "is given twice")
		case !IsFieldValue(given[name]):
			return nil, vigil.Invalid(at, "must be a header value without line breaks and control characters, of at most %d bytes", maxHeaderValue)
		}
		header[canonical] = []string{given[name]}
	}
	return header, nil
}

// framing reports whether a header says where a message or a connection ends:
// given by a user it would desynchronize the two sides.
func framing(canonical string) bool {
	switch canonical {
	case "Connection", "Content-Length", "Expect", "Http2-Settings", "Keep-Alive", "Proxy-Connection",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	return false
}

// IsToken reports whether a text is a token of RFC 9110, section 5.6.2, that can
// be a header's name.
func IsToken(text string) bool {
	return text != "" && len(text) <= maxHeaderName && !strings.ContainsFunc(text, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// IsFieldValue reports whether a text can be a header's value.
func IsFieldValue(text string) bool {
	return len(text) <= maxHeaderValue && !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' && r != '\t' || r == 0x7f
	})
}
