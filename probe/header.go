package probe

import (
	"net/http"
	"strings"

	"vigil"
)

const (
	maxHeaders     = 50
	maxHeaderValue = 8 << 10
)

// parseHeaders checks the headers of a config. Host is returned apart, as the
// standard library wants it.
func parseHeaders(path string, given map[string]string) (header http.Header, host string, err error) {
	header = make(http.Header, len(given)+2)
	if len(given) > maxHeaders {
		return nil, "", vigil.Invalid(path, "must have at most %d entries", maxHeaders)
	}
	for name, value := range given {
		at := member(path, clip(name, maxNameLength))
		canonical := http.CanonicalHeaderKey(name)
		switch {
		case !isToken(name):
			return nil, "", vigil.Invalid(at, "is not a valid header name")
		case !isFieldValue(value):
			return nil, "", vigil.Invalid(at, "must be a header value without line breaks and control characters, of at most %d bytes", maxHeaderValue)
		case framing(canonical):
			return nil, "", vigil.Invalid(at, "is set by the platform and cannot be given")
		case header[canonical] != nil || canonical == "Host" && host != "":
			return nil, "", vigil.Invalid(at, "is given twice")
		case canonical == "Host" && !validHostHeader(value):
			return nil, "", vigil.Invalid(at, "must be a host name, with a port where it needs one")
		}
		if canonical == "Host" {
			host = value
			continue
		}
		header[canonical] = []string{value}
	}
	return header, host, nil
}

// framing reports whether a header says where a message or a connection ends:
// given by a user it would desynchronise the two sides.
func framing(canonical string) bool {
	switch canonical {
	case "Connection", "Content-Length", "Expect", "Http2-Settings", "Keep-Alive", "Proxy-Connection",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	return false
}

// isToken reports whether a text is a token of RFC 9110, section 5.6.2.
func isToken(text string) bool {
	for i := range len(text) {
		c := text[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return text != "" && len(text) <= 256
}

// isFieldValue reports whether a text can be a header's value.
func isFieldValue(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return len(text) <= maxHeaderValue
}

func validHostHeader(value string) bool {
	for i := range len(value) {
		c := value[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.:[]", c) >= 0) {
			return false
		}
	}
	return value != "" && len(value) <= 255
}
