// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"net/url"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil/internal/secret"
)

// minToken is the length in bytes from which a text that may or may not be a
// secret, such as a header's value, is hidden. Known secrets are, however short.
const minToken = 8

// credentials lists what of secrets is hidden: each as a whole and, where it is a
// header's value such as "Bearer ...", the credentials alone.
func credentials(secrets []string) []string {
	texts := slices.Clone(secrets)
	for _, secret := range secrets {
		if _, after, ok := strings.Cut(secret, " "); ok {
			texts = append(texts, after)
		}
	}
	return texts
}

// headerTexts lists what of other headers is hidden, since their values may be
// tokens although their names do not say so.
func headerTexts(headers map[string]string) []string {
	var texts []string
	for name, value := range headers {
		if len(value) >= minToken && !secret.IsCredentialName(name) {
			texts = append(texts, value)
		}
	}
	return credentials(texts)
}

// pathTexts lists the parts of an address that may be tokens: those of its path
// and the values of its query.
func pathTexts(u *url.URL) []string {
	found := []string{u.RequestURI(), u.Path, u.RawQuery}
	for part := range strings.SplitSeq(u.EscapedPath(), "/") {
		found = append(found, part)
	}
	for _, values := range u.Query() {
		found = append(found, values...)
	}
	return slices.DeleteFunc(found, func(text string) bool { return len(text) < minToken })
}
