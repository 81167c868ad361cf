// SPDX-License-Identifier: Apache-2.0

// Package coding reads which content codings a client takes, for answers that are kept compressed.
package coding

import (
	"net/http"
	"strconv"
	"strings"
)

// Accepts reports whether the header Accept-Encoding of a request allows a content coding, named in small letters such as
// gzip or br (RFC 9110, section 12.5.3): by its name or an alias, else by *, unless with the weight 0. A request without
// the header takes any coding by that section; here it takes none, since such a client seldom decodes.
func Accepts(h http.Header, coding string) bool {
	accepted := false
	for one := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		name, parameters, _ := strings.Cut(one, ";")
		name = strings.TrimPrefix(strings.ToLower(strings.TrimSpace(name)), "x-") // x-gzip is gzip
		if name != coding && name != "*" {
			continue
		}
		_, weight, weighed := strings.Cut(parameters, "=")
		q, err := strconv.ParseFloat(strings.TrimSpace(weight), 64)
		allowed := !weighed || err == nil && q > 0
		if name == coding {
			return allowed
		}
		accepted = allowed
	}
	return accepted
}
