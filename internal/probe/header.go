// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"net/http"
	"strings"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/config"
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
	for name := range given {
		if strings.EqualFold(name, "Host") && !validHostHeader(host) {
			return nil, "", vigil.Invalid(config.Member(path, name), "must be a host name, with a port where it needs one")
		}
	}
	return header, host, nil
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
