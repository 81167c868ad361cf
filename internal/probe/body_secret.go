// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/vigil-monitor/vigil/internal/secret"
)

// minBodyText is the length in bytes from which a text inside a secret body is hidden under any
// name; a shorter one is often a word such as true or de.
const minBodyText = 8

// maxBodyTexts bounds how many texts of a body are hidden alone.
const maxBodyTexts = 100

// bodyTexts lists what of a secret body a target may repeat alone: the texts in a JSON body
// and the values of a form, where they are long enough or their names say credential.
func bodyTexts(body string) []string {
	var texts []string
	add := func(name, text string) {
		if len(texts) >= maxBodyTexts {
			return
		}
		if len(text) >= minBodyText || len(text) >= minSecret && secret.IsCredentialParameter(name) {
			texts = append(texts, text)
		}
	}
	decoder := json.NewDecoder(strings.NewReader(body))
	decoder.UseNumber()
	var tree any
	if decoder.Decode(&tree) == nil {
		eachText("", tree, add)
		return texts
	}
	if form, err := url.ParseQuery(body); err == nil {
		for name, values := range form {
			for _, value := range values {
				add(name, value)
			}
		}
	}
	return texts
}

// eachText calls do with each text and number of a tree and the name of its member.
func eachText(name string, node any, do func(name, text string)) {
	switch node := node.(type) {
	case string:
		do(name, node)
	case json.Number:
		do(name, node.String())
	case []any:
		for _, item := range node {
			eachText(name, item, do)
		}
	case map[string]any:
		for member, value := range node {
			eachText(member, value, do)
		}
	}
}
