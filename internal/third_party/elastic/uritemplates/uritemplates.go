// SPDX-License-Identifier: Apache-2.0

// Package uritemplates stands in for that of the Elasticsearch client, see internal/third_party/README.md.
package uritemplates

import "errors"

// Expand fails.
func Expand(string, map[string]string) (string, error) {
	return "", errors.New("the Elasticsearch client is not part of this program")
}
