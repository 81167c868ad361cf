// SPDX-License-Identifier: Apache-2.0

package project

import "strings"

// maxCompared bounds the names that Meant compares, in bytes.
const maxCompared = 100

// Meant returns the end of a message about an unknown name: the known one that was probably
// meant, or nothing.
func Meant(name string, known []string) string {
	best, least := "", max(2, len(name)/3)+1
	for _, candidate := range known {
		if distance := edits(strings.ToLower(name), candidate); distance < least {
			best, least = candidate, distance
		}
	}
	if best == "" {
		return ""
	}
	return `; did you mean "` + best + `"?`
}

// edits counts the letters to insert, delete or replace between two names.
func edits(a, b string) int {
	if len(a) > maxCompared || len(b) > maxCompared {
		return maxCompared
	}
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+cost)
		}
		last = row
	}
	return last[len(b)]
}
