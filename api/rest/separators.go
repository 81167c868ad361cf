// SPDX-License-Identifier: Apache-2.0

package rest

import "strings"

// Huma keeps the path of the member that it validates as one text, and leaves the member by
// removing what follows the last '.' or '['. A name that has one of them would leave a part
// of itself in the path of every later member: wrong paths, which grow with each such name.
// So Huma gets names in which these characters are hidden behind two code points that are
// never characters (Unicode, section 23.7), and problemOf shows them again.
var (
	separatorHider = strings.NewReplacer(".", "\ufdd0", "[", "\ufdd1") //nolint:gochecknoglobals // constant
	separatorShow  = strings.NewReplacer("\ufdd0", ".", "\ufdd1", "[") //nolint:gochecknoglobals // constant
)

// hideSeparators returns a JSON value whose names have no separators. It is the same value
// when none has one, and a copy otherwise.
func hideSeparators(v any) any {
	if hasSeparators(v) {
		return withoutSeparators(v)
	}
	return v
}

func withoutSeparators(v any) any {
	switch v := v.(type) {
	case map[string]any:
		hidden := make(map[string]any, len(v))
		for name, value := range v {
			hidden[separatorHider.Replace(name)] = withoutSeparators(value)
		}
		return hidden
	case []any:
		hidden := make([]any, len(v))
		for i, value := range v {
			hidden[i] = withoutSeparators(value)
		}
		return hidden
	}
	return v
}

func hasSeparators(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if strings.ContainsAny(name, ".[") || hasSeparators(value) {
				return true
			}
		}
	case []any:
		for _, value := range v {
			if hasSeparators(value) {
				return true
			}
		}
	}
	return false
}
