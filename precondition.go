// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"fmt"
	"slices"
	"strings"
)

// Precondition holds the revisions that a conditional change accepts: the If-Match header
// of RFC 9110. Nil accepts every revision, and an empty Precondition none.
type Precondition []int64

// Check returns a CodePrecondition error when the revision of a resource is not accepted.
// Kind names the resource for people, such as "check"; the details have the revision.
func (m Precondition) Check(kind string, revision int64) error {
	if m == nil || slices.Contains(m, revision) {
		return nil
	}
	named := "no revision of it"
	if len(m) > 0 {
		texts := make([]string, len(m))
		for i, accepted := range m {
			texts[i] = fmt.Sprintf(`"%d"`, accepted)
		}
		named = strings.Join(texts, ", ")
	}
	err := Errorf(
		CodePrecondition,
		`The %s has changed: its revision is "%d", and If-Match names %s. Nothing was changed. `+
			`Read the %s again, then repeat the request with its ETag.`,
		kind,
		revision,
		named,
		kind,
	)
	err.Details = map[string]any{"revision": revision}
	return err
}
