package web

import (
	"net/url"
	"slices"
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
	return index, after, found && strings.HasPrefix(rest, "[") && err == nil && index >= 0
}

// rowsAt returns the indexes of the rows of a list that a form has, in order. They need
// not follow each other.
func rowsAt(typed url.Values, path string) []int {
	var found []int
	for name := range typed {
		rest, below := strings.CutPrefix(name, path)
		if !below {
			continue
		}
		if i, _, ok := indexAfter(rest); ok && !slices.Contains(found, i) {
			found = append(found, i)
		}
	}
	slices.Sort(found)
	return found
}

// dropRow removes a row from the form.
func dropRow(typed url.Values, row string) {
	for name := range typed {
		if name == row || strings.HasPrefix(name, row+".") {
			typed.Del(name)
		}
	}
}

// compact gives the rows of a form the indexes that the API counts, and drops the empty
// ones of objects with free names, so that an error of the API leads to its row.
func compact(members []member, typed url.Values, path string) {
	for i := range members {
		m := &members[i]
		at := path + "." + m.name
		switch m.input {
		case asPairs:
			compactPairs(typed, at)
		case asGroup:
			compact(m.members, typed, at)
		case asRows:
			renumber(typed, at)
			for _, i := range rowsAt(typed, at) {
				compact(m.members, typed, element(at, i))
			}
		case asConfig:
			compact(membersOf(typed.Get(path+".type")), typed, at)
		default: // nothing more to do for the others
		}
	}
}

func compactPairs(typed url.Values, at string) {
	for _, i := range rowsAt(typed, at) {
		if row := element(at, i); typed.Get(row+".name") == "" && typed.Get(row+".value") == "" {
			dropRow(typed, row)
		}
	}
	renumber(typed, at)
}

// renumber closes the gaps between the indexes of rows.
func renumber(typed url.Values, path string) {
	for to, from := range rowsAt(typed, path) {
		if to == from {
			continue
		}
		old := element(path, from)
		for name, values := range typed {
			if rest, ok := strings.CutPrefix(name, old+"."); ok {
				typed.Del(name)
				typed[element(path, to)+"."+rest] = values
			}
		}
	}
}

// addRow adds a row to the list at a path, with the first choice of each of its selects.
func addRow(m *member, typed url.Values, path string) string {
	next := 0
	if rows := rowsAt(typed, path); len(rows) > 0 {
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
			enterConfig(membersOf(typed.Get(row+".type")), nil, typed, row+"."+inner.name)
		case asText:
			typed.Set(row+"."+inner.name, "")
		default: // nothing more to do for the others
		}
	}
	return row
}

// memberAt finds the member of a path, such as config.steps[0].config.headers. It is nil
// for a path that leads nowhere.
func memberAt(members []member, typed url.Values, at, path string) *member {
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
			return memberAt(membersOf(typed.Get(at+".type")), typed, here, path)
		}
	}
	return nil
}
