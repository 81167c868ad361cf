// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/url"
	"strings"
)

// ServerURL checks the address of a server and removes a slash at its end.
func ServerURL(text, source string) (string, error) {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.User != nil || parsed.RawQuery != "" {
		return "", Errorf(Usage, "%s is %q; it must be an address such as https://vigil.example.com", source, text)
	}
	parsed.Fragment = ""
	parsed.Scheme, parsed.Host = strings.ToLower(parsed.Scheme), strings.ToLower(parsed.Host)
	return strings.TrimRight(parsed.String(), "/"), nil
}
