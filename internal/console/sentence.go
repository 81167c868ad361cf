// SPDX-License-Identifier: Apache-2.0

package console

import "strings"

// Sentence formats an error for a terminal: one line for each of several errors, while
// an error that a library broke into lines is joined.
func Sentence(err error) string {
	return strings.NewReplacer(":\n\t", ": ", "\n\t", "; ", "\n", "\nvigil: ").Replace(err.Error())
}
