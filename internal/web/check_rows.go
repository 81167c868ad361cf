// SPDX-License-Identifier: Apache-2.0

package web

import (
	"strconv"
	"strings"
)

// element is the path of an item of a list, as the API writes it.
func element(path string, index int) string { return path + "[" + strconv.Itoa(index) + "]" }

// indexAfter reads the index of a row at the beginning of what follows the path of its
// list, and returns what follows it.
func indexAfter(rest string) (index int, after string, ok bool) {
	text, after, found := strings.Cut(strings.TrimPrefix(rest, "["), "]")
	index, err := strconv.Atoi(text)
	return index, after, found && strings.HasPrefix(rest, "[") && err == nil && index >= 0 && strconv.Itoa(index) == text
}

// dropRow removes a row from the form.
func dropRow(typed *sheet, row string) {
	for name := range typed.Values {
		if name == row || strings.HasPrefix(name, row+".") {
			typed.Del(name)
		}
	}
}

// emptyPairs returns the rows of objects with free names in which nothing was entered.
func emptyPairs(members []member, typed *sheet, path string) []string {
	var empty []string
	for i := range members {
		m := &members[i]
		at := path + "." + m.name
		switch m.input {
		case asPairs:
			empty = append(empty, emptyRows(typed, at)...)
		case asGroup:
			empty = append(empty, emptyPairs(m.members, typed, at)...)
		case asRows:
			for _, i := range typed.rows(at) {
				empty = append(empty, emptyPairs(m.members, typed, element(at, i))...)
			}
		case asConfig:
			empty = append(empty, emptyPairs(m.types.members(typed.Get(path+".type")), typed, at)...)
		default: // nothing more to do for the others
		}
	}
	return empty
}

// emptyRows is emptyPairs of one object.
func emptyRows(typed *sheet, at string) []string {
	var empty []string
	for _, i := range typed.rows(at) {
		if row := element(at, i); typed.Get(row+".name") == "" && typed.Get(row+".value") == "" {
			empty = append(empty, row)
		}
	}
	return empty
}

// addRow adds a row to the list at a path, with the first choice of each of its selects.
func addRow(m *member, typed *sheet, path string) string {
	next := 0
	if rows := typed.rows(path); len(rows) > 0 {
		next = rows[len(rows)-1] + 1
	}
	row := element(path, next)
	if m == nil || m.input == asPairs {
		typed.Set(row+".name", "")
		typed.Set(row+".value", "")
		return row
	}
	for i := range m.members {
		inner := &m.members[i]
		switch inner.input {
		case asChoice:
			typed.Set(row+"."+inner.name, inner.choices[0].Value)
		case asConfig:
			enterConfig(inner.types.members(typed.Get(row+".type")), nil, typed, row+"."+inner.name)
		case asText:
			typed.Set(row+"."+inner.name, "")
		default: // nothing more to do for the others
		}
	}
	return row
}

// memberAt finds the member of a path, such as config.steps[0].config.headers. It is nil
// for a path that leads nowhere.
func memberAt(members []member, typed *sheet, at, path string) *member {
	rest, ok := strings.CutPrefix(path, at+".")
	if !ok {
		return nil
	}
	for i := range members {
		m := &members[i]
		after, ok := strings.CutPrefix(rest, m.name)
		if !ok || after != "" && after[0] != '.' && after[0] != '[' {
			continue
		}
		here := at + "." + m.name
		switch {
		case after == "":
			return m
		case m.input == asGroup:
			return memberAt(m.members, typed, here, path)
		case m.input == asRows:
			if index, _, ok := indexAfter(after); ok {
				return memberAt(m.members, typed, element(here, index), path)
			}
			return nil
		case m.input == asConfig:
			return memberAt(m.types.members(typed.Get(at+".type")), typed, here, path)
		}
	}
	return nil
}
