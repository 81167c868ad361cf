package probe

import (
	"net/http"
	"strings"

	"vigil"
	"vigil/config"
)

// parseHeaders checks the headers of a config. Host is returned apart, as the
// standard library wants it.
func parseHeaders(path string, given map[string]string) (header http.Header, host string, err error) {
	header, err = config.Headers(path, given, func(string) bool { return false })
	if err != nil || header["Host"] == nil {
		return header, "", err
	}
	host = header.Get("Host")
	header.Del("Host")
	if !validHostHeader(host) {
		return nil, "", vigil.Invalid(config.Member(path, givenAs(given, "Host")), "must be a host name, with a port where it needs one")
	}
	return header, host, nil
}

// givenAs returns a header's name as the config spells it, so that an error names
// the member that its reader sees.
func givenAs(given map[string]string, canonical string) string {
	for name := range given {
		if http.CanonicalHeaderKey(name) == canonical {
			return name
		}
	}
	return canonical
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
