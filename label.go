// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of labels.
const (
	MaxLabels     = 20
	maxLabelKey   = 63  // bytes
	maxLabelValue = 200 // characters
)

// Labels are names and values that users give to a resource. No resource has more than
// MaxLabels. A key has 1 to 63 characters of a-z, 0-9, ".", "_", "/" and "-"; a value has
// up to 200 characters that CheckLine accepts, and may be empty.
type Labels map[string]string

// Validate returns a CodeInvalid error that names the member at fault.
func (l Labels) Validate() error {
	if len(l) > MaxLabels {
		return Invalid("labels", "must have at most %d members", MaxLabels)
	}
	for _, key := range slices.Sorted(maps.Keys(l)) {
		if !validLabelKey(key) {
			return Invalid("labels", "has a key that is not 1 to %d characters of a-z, 0-9, '.', '_', '/' and '-'", maxLabelKey)
		}
		if err := checkLabelValue("labels."+key, l[key], CheckLine); err != nil {
			return err
		}
	}
	return nil
}

func validLabelKey(key string) bool {
	return key != "" && len(key) <= maxLabelKey && !strings.ContainsFunc(key, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && !strings.ContainsRune("._/-", r)
	})
}

// checkLabelValue refuses a value that is too long, or whose characters check refuses.
func checkLabelValue(member, value string, check func(member, text string) error) error {
	if utf8.RuneCountInString(value) > maxLabelValue {
		return Invalid(member, "must have at most %d characters", maxLabelValue)
	}
	return check(member, value)
}

// LabelSelector selects resources that have a label.
type LabelSelector struct {
	Key string
	// Value of the label; nil selects every value.
	Value *string
}

// ParseLabelSelectors reads selectors of the form key or key=value. An error is a
// CodeInvalid error about the member.
func ParseLabelSelectors(member string, texts []string) ([]LabelSelector, error) {
	if len(texts) > MaxLabels {
		return nil, Invalid(member, "must be given at most %d times", MaxLabels)
	}
	selectors := make([]LabelSelector, 0, len(texts))
	for _, text := range texts {
		key, value, hasValue := strings.Cut(text, "=")
		if !validLabelKey(key) {
			return nil, Invalid(member, "must be key or key=value, with a key of 1 to %d characters of a-z, 0-9, '.', '_', '/' and '-'", maxLabelKey)
		}
		selector := LabelSelector{Key: key}
		if hasValue {
			// No more is checked, since older values may have what CheckLine refuses.
			if err := checkLabelValue(member, value, checkBreaks); err != nil {
				return nil, err
			}
			selector.Value = &value
		}
		selectors = append(selectors, selector)
	}
	return selectors, nil
}

// CutSelector splits a selector key=value. A value may have more signs of equality.
func CutSelector(selector string) (key, value string) {
	key, value, _ = strings.Cut(selector, "=")
	return key, value
}
