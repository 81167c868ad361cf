// SPDX-License-Identifier: Apache-2.0

package web

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Bounds of the forms of the dashboard. They are looked at before anything is done with what
// was posted.
const (
	// maxFields is how many fields a form may have: the largest one, of a multistep check, has
	// less than 2,000.
	maxFields = 5000
	// maxFieldValues is how many values a field may have, such as the checks of a maintenance window.
	maxFieldValues = 1000
	// maxRows is how many rows the lists of a check's form may have together: ten steps with
	// everything that the API allows have 510.
	maxRows = 1000
	// maxRowDepth is how deep lists are in lists, such as config.steps[0].config.headers[0].name.
	maxRowDepth  = 2
	maxFieldName = 256 // bytes
)

// sheet is what was entered into a form of a check: texts by the names of their fields. It
// finds the rows of all lists once, and again after a field was added or removed.
type sheet struct {
	url.Values

	lists map[string][]int // indexes of the rows, in order, by the path of the list; nil: not known
}

func newSheet() *sheet { return &sheet{Values: url.Values{}} }

// Set sets a field.
func (s *sheet) Set(name, value string) {
	s.lists = nil
	s.Values.Set(name, value)
}

// Add adds a value to a field.
func (s *sheet) Add(name, value string) {
	s.lists = nil
	s.Values.Add(name, value)
}

// Del removes a field.
func (s *sheet) Del(name string) {
	s.lists = nil
	s.Values.Del(name)
}

// rowName is a part of a name that ends with a row, such as config.steps[0].
type rowName struct {
	list  string // config.steps
	index int
	end   int // of the part, in the name
}

// rowsIn returns the rows that a name is in, from the outermost.
func rowsIn(name string) []rowName {
	if len(name) > maxFieldName {
		return nil // no field of ours
	}
	var found []rowName
	for at := 0; len(found) < maxRowDepth; {
		open := strings.IndexByte(name[at:], '[')
		if open < 0 {
			break
		}
		open += at
		index, _, ok := indexAfter(name[open:])
		if !ok {
			break
		}
		at = open + len(element("", index))
		found = append(found, rowName{list: name[:open], index: index, end: at})
	}
	return found
}

// rows returns the indexes of the rows of a list, in order. They need not follow each other.
func (s *sheet) rows(path string) []int {
	if s.lists == nil {
		s.lists = make(map[string][]int)
		for name := range s.Values {
			for _, row := range rowsIn(name) {
				s.lists[row.list] = append(s.lists[row.list], row.index)
			}
		}
		for list, found := range s.lists {
			slices.Sort(found)
			s.lists[list] = slices.Compact(found)
		}
	}
	return s.lists[path]
}

// rowCount is how many rows all lists have together.
func (s *sheet) rowCount() int {
	s.rows("")
	count := 0
	for _, rows := range s.lists {
		count += len(rows)
	}
	return count
}

// tidy removes rows and gives the others the indexes that the API counts, so that an error of
// the API leads to its row.
func (s *sheet) tidy(remove []string) {
	gone := make(map[string]bool, len(remove))
	for _, row := range remove {
		gone[row] = true
	}
	kept := make(url.Values, len(s.Values))
	for name, values := range s.Values {
		if !slices.ContainsFunc(rowsIn(name), func(row rowName) bool { return gone[name[:row.end]] }) {
			kept[name] = values
		}
	}
	s.Values, s.lists = kept, nil
	tidied := make(url.Values, len(kept))
	for name, values := range kept {
		tidied[s.tidyName(name)] = values
	}
	s.Values, s.lists = tidied, nil
}

// tidyName returns a name with the places of its rows instead of their indexes.
func (s *sheet) tidyName(name string) string {
	var tidied strings.Builder
	from := 0
	for _, row := range rowsIn(name) {
		place, _ := slices.BinarySearch(s.rows(row.list), row.index)
		tidied.WriteString(name[from:len(row.list)] + "[" + strconv.Itoa(place) + "]")
		from = row.end
	}
	return tidied.String() + name[from:]
}
