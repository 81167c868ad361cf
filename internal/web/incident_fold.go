// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"time"
)

// foldFrom is how many votes in a row are folded, and foldKeep how many of them stay at
// the start.
const (
	foldFrom = 8
	foldKeep = 2
)

// fold replaces what repeats: the votes of a region that flaps become one line with their
// number, and recoveries that all arrived at once become one sentence.
func fold(entries []entry) []entry {
	var out []entry
	for i := 0; i < len(entries); {
		end := i
		for end < len(entries) && isVote(&entries[end]) {
			end++
		}
		if end-i >= foldFrom {
			run := entries[i:end]
			middle := run[foldKeep : len(run)-1]
			out = append(out, run[:foldKeep]...)
			out = append(out, foldedVotes(middle), run[len(run)-1])
			i = end
			continue
		}
		if end = i + arrivedTogether(entries[i:]); end-i > 1 {
			out = append(out, foldedArrivals(entries[i:end]))
			i = end
			continue
		}
		out = append(out, entries[i])
		i++
	}
	return out
}

func isVote(e *entry) bool { return e.Kind == "vote" && e.Chip != "" }

func foldedVotes(votes []entry) entry {
	first, last := votes[0], votes[len(votes)-1]
	return entry{
		Time: first.Time, Distance: first.Distance, Mark: newMark("vote", ""), Kind: "vote", Folded: votes, at: first.at,
		Subject: fmt.Sprintf("%d changes", len(votes)), Text: " in " + distance(last.at.Sub(first.at)),
	}
}

// arrivedTogether counts the recoveries from the first on that arrived at their first
// attempt within three seconds.
func arrivedTogether(entries []entry) int {
	n := 0
	for n < len(entries) && entries[n].recovery && entries[n].Mark.State == "done" && entries[n].Line == "" &&
		entries[n].at.Sub(entries[0].at) <= 3*time.Second {
		n++
	}
	return n
}

func foldedArrivals(arrivals []entry) entry {
	names := make([]string, len(arrivals))
	for i := range arrivals {
		names[i] = arrivals[i].Subject
	}
	first := arrivals[0]
	return entry{
		Time: first.Time, Distance: first.Distance, Mark: newMark("done", ""), Kind: "delivery", Folded: arrivals, at: first.at,
		Subject: listed(names), Text: " delivered", recovery: true,
	}
}
