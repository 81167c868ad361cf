// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ToolApply is the tool of the definitions that POST /v1/apply manages.
const ToolApply = "apply"

// Limits of the parts of ManagedBy, in characters.
const (
	maxManagedTool = 40
	MaxProjectName = 63
	maxManagedKey  = 200
)

// ManagedBy names the program that manages a definition. No two definitions of one kind in
// an organization have the same one.
type ManagedBy struct {
	Tool    string // 1 to 40 characters of a-z, 0-9, "." and "-", such as apply or terraform
	Project string // 1 to 63 characters of letters, digits, ".", "_" and "-"
	Key     string // 1 to 200 visible characters; identifies the definition in the project
}

// Validate returns a CodeInvalid error that names the member at fault.
func (m *ManagedBy) Validate() error {
	switch {
	case m == nil:
		return nil
	case !validManaged(m.Tool, maxManagedTool, func(r rune) bool { return lowerOrDigit(r) || r == '.' || r == '-' }):
		return Invalid("managed_by.tool", "must have 1 to %d characters of a-z, 0-9, '.' and '-', such as terraform", maxManagedTool)
	case !ValidProject(m.Project):
		return Invalid("managed_by.project", "must have 1 to %d letters, digits, '.', '_' and '-', such as shop", MaxProjectName)
	case !validManaged(m.Key, maxManagedKey, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }):
		return Invalid("managed_by.key", "must have 1 to %d visible characters without spaces, such as home", maxManagedKey)
	}
	return nil
}

// ValidProject reports whether a text can be the project of ManagedBy and of a file.
func ValidProject(project string) bool {
	return validManaged(project, MaxProjectName, func(r rune) bool {
		return lowerOrDigit(r) || r >= 'A' && r <= 'Z' || strings.ContainsRune("._-", r)
	})
}

func validManaged(text string, most int, valid func(rune) bool) bool {
	return text != "" && utf8.ValidString(text) && utf8.RuneCountInString(text) <= most &&
		!strings.ContainsFunc(text, func(r rune) bool { return !valid(r) })
}

func lowerOrDigit(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }

// SameManager reports whether two definitions are managed by the same program as the same
// thing; nil is not managed.
func SameManager(a, b *ManagedBy) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

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

// MaxBulk is how many checks one request changes at most.
const MaxBulk = 1000

// CheckEdit is what a change of several checks did to one of them.
type CheckEdit struct {
	Before, After Check // After is zero when the check was deleted
	Changed       bool
	Stopped       []string // regions of a deleted check
	// Deliveries are the channels that have a message due about the end of the incident of
	// a deleted check.
	Deliveries []PendingDelivery
}
