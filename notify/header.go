package notify

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"vigil"
)

// Bounds of a config's headers.
const (
	maxHeaders     = 50
	maxHeaderName  = 256
	maxHeaderValue = 8 << 10
)

// parseHeaders checks the headers that a config adds to a request.
func parseHeaders(path string, given map[string]string) (http.Header, error) {
	if len(given) > maxHeaders {
		return nil, vigil.Invalid(path, "must have at most %d entries", maxHeaders)
	}
	header := make(http.Header, len(given))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		at := path + "." + cut(singleLine(name), 80)
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case !isToken(name):
			return nil, vigil.Invalid(at, "is not a valid header name")
		case reserved(canonical):
			return nil, vigil.Invalid(at, "is set by the platform and cannot be given")
		case header[canonical] != nil:
			return nil, vigil.Invalid(at, "is given twice")
		case !isFieldValue(given[name]):
			return nil, vigil.Invalid(at, "must be a header value without line breaks and control characters, of at most %d bytes", maxHeaderValue)
		}
		header[canonical] = []string{given[name]}
	}
	return header, nil
}

// reserved reports whether a header belongs to the connection, or says what
// only the platform may say.
func reserved(canonical string) bool {
	switch canonical {
	case "Connection", "Content-Length", "Expect", "Host", "Http2-Settings", "Keep-Alive", "Proxy-Connection",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade", headerWebhookID, headerWebhookTimestamp, headerWebhookSignature:
		return true
	}
	return strings.HasPrefix(canonical, "X-Service-")
}

// isToken reports whether a text is a token of RFC 9110, section 5.6.2.
func isToken(text string) bool {
	return text != "" && len(text) <= maxHeaderName && !strings.ContainsFunc(text, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// isFieldValue reports whether a text can be a header's value.
func isFieldValue(text string) bool {
	return len(text) <= maxHeaderValue && !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' && r != '\t' || r == 0x7f
	})
}
