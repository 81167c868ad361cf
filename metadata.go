// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// MaxMetadata is the maximum size of Result.Metadata as JSON, in bytes.
	MaxMetadata = 16 << 10
	// MetadataTruncated is the member that is true in metadata that was cut.
	MetadataTruncated = "truncated"
)

// minShare is the least that a value is cut to, in bytes: less would say nothing.
const minShare = 64

// cutMark ends a text that was cut.
const cutMark = "..."

// boundMetadata returns metadata whose JSON has at most MaxMetadata bytes. It cuts the
// largest values: texts and lists lose their ends, objects their largest members. What
// is small stays as it is, and so do the members that rules depend on. Metadata that is
// cut has the member MetadataTruncated, and changed is true. The values must be those of
// decoded JSON; the argument is not changed.
func boundMetadata(metadata map[string]any) (bounded map[string]any, changed bool) {
	if jsonSize(metadata) <= MaxMetadata {
		return metadata, false
	}
	var first, rest []share
	for name, value := range metadata {
		switch one := shareOf(name, value); name {
		case MetadataTruncated:
		case MetadataFingerprint, MetadataDays, MetadataCertDays, "timings", "phases":
			first = append(first, one)
		default:
			rest = append(rest, one)
		}
	}
	mark := shareOf(MetadataTruncated, true)
	left := MaxMetadata - brackets - mark.size()
	kept := fill(bySize(first), left/2)
	for _, one := range kept {
		left -= one.size()
	}
	return object(append(kept, append(fill(bySize(rest), left), mark)...)), true
}

// MetadataSize is how many bytes of MaxMetadata metadata takes, or a little more; 0 without
// any.
func MetadataSize(metadata map[string]any) int {
	if len(metadata) == 0 {
		return 0
	}
	return jsonSize(metadata)
}

// Postgres writes a space behind each comma and colon. The last element has no comma;
// it is counted as if it had one.
const (
	brackets  = 2
	separator = 2
)

// share is a member of an object, or an element of a list, and its part of a budget.
type share struct {
	name     string
	value    any
	overhead int // bytes of the name and the separators
	bytes    int // of the value
}

func (s share) size() int { return s.overhead + s.bytes }

func shareOf(name string, value any) share {
	return share{name: name, value: value, overhead: textSize(name) + 2*separator, bytes: jsonSize(value)}
}

// bySize sorts members, the smallest first.
func bySize(members []share) []share {
	slices.SortFunc(members, func(a, b share) int { return cmp.Or(cmp.Compare(a.size(), b.size()), strings.Compare(a.name, b.name)) })
	return members
}

func object(members []share) map[string]any {
	tree := make(map[string]any, len(members))
	for _, one := range members {
		tree[one.name] = one.value
	}
	return tree
}

// fill returns the first of the shares that fit the budget, in their order. All of them
// get the same part of it, and what a small one leaves goes to the larger ones.
func fill(shares []share, budget int) []share {
	least, n := 0, 0
	for ; n < len(shares); n++ {
		if least += min(shares[n].size(), minShare); least > budget {
			break
		}
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(shares[a].size(), shares[b].size()) })
	keeps := make([]bool, n)
	fitted := slices.Clone(shares[:n])
	for i, at := range order {
		one := &fitted[at]
		if part := budget / (n - i); one.size() > part {
			value, ok := cut(one.value, part-one.overhead)
			if !ok {
				continue
			}
			one.value, one.bytes = value, jsonSize(value)
		}
		keeps[at] = true
		budget -= one.size()
	}
	var kept []share
	for i, one := range fitted {
		if keeps[i] {
			kept = append(kept, one)
		}
	}
	return kept
}

// cut shortens a value to a budget in bytes. It returns false when nothing of it fits.
func cut(value any, budget int) (any, bool) {
	switch value := value.(type) {
	case string:
		return cutText(value, budget)
	case []any:
		elements := make([]share, len(value))
		for i, element := range value {
			elements[i] = share{value: element, overhead: separator, bytes: jsonSize(element)}
		}
		list := []any{}
		for _, one := range fill(elements, budget-brackets) {
			list = append(list, one.value)
		}
		return list, len(list) > 0
	case map[string]any:
		members := make([]share, 0, len(value))
		for name, member := range value {
			members = append(members, shareOf(name, member))
		}
		kept := fill(bySize(members), budget-brackets)
		return object(kept), len(kept) > 0
	}
	return nil, false
}

func cutText(text string, budget int) (string, bool) {
	size, end := textSize(cutMark), 0
	for end < len(text) {
		r, width := utf8.DecodeRuneInString(text[end:])
		if size += runeSize(r); size > budget {
			break
		}
		end += width
	}
	return text[:end] + cutMark, end > 0
}

// jsonSize is how many bytes a value takes as JSON, as Postgres or as the API writes it,
// or a little more.
func jsonSize(value any) int {
	switch value := value.(type) {
	case nil, bool:
		return len("false")
	case string:
		return textSize(value)
	case []any:
		size := brackets
		for _, element := range value {
			size += jsonSize(element) + separator
		}
		return size
	case map[string]any:
		size := brackets
		for name, member := range value {
			size += shareOf(name, member).size()
		}
		return size
	}
	text, err := json.Marshal(value)
	if err != nil {
		return MaxMetadata + 1 // it cannot be stored either
	}
	return numberSize(string(text))
}

// numberSize counts the digits of a number, since Postgres writes no exponents.
func numberSize(text string) int {
	_, exponent, found := strings.Cut(strings.ToLower(text), "e")
	if !found {
		return len(text)
	}
	zeros, err := strconv.Atoi(exponent)
	if err != nil {
		return len(text)
	}
	return len(text) + max(zeros, -zeros)
}

// textSize is the size of a string with its quotes.
func textSize(text string) int {
	size := len(`""`)
	for _, r := range text {
		size += runeSize(r)
	}
	return size
}

func runeSize(r rune) int {
	switch {
	case r == '"', r == '\\':
		return len(`\"`)
	case r < ' ', r == '\u2028', r == '\u2029', r == utf8.RuneError:
		return len(`\u0000`)
	}
	return utf8.RuneLen(r)
}
