package manifest

import "strings"

// nearest returns the candidate that a name was probably meant to be, "" without one.
func nearest(name string, candidates []string) string {
	best, least := "", max(2, len(name)/3)+1
	for _, candidate := range candidates {
		if distance := edits(strings.ToLower(name), candidate, least); distance < least {
			best, least = candidate, distance
		}
	}
	return best
}

// maxName bounds the names that are compared, in bytes.
const maxName = 100

// edits counts the letters to insert, delete, replace or swap between two names, up to a
// limit.
func edits(a, b string, limit int) int {
	if len(a) > maxName || len(b) > maxName || len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	var before, last []int
	for j := range len(b) + 1 {
		last = append(last, j)
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(row[j-1]+1, last[j]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// meant is the end of a message: the name that was probably meant.
func meant(name string, candidates []string) string {
	if near := nearest(name, candidates); near != "" {
		return `; did you mean "` + near + `"?`
	}
	return ""
}
