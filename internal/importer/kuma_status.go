// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"fmt"
	"strconv"
	"strings"
)

// statusSpan is a range of statuses, both ends included.
type statusSpan struct{ low, high int }

// acceptedStatuses are the statuses of Kuma's member accepted_statuscodes.
type acceptedStatuses struct {
	ranges []statusSpan
	wrong  []string // that are none
}

// maxStatuses is how many statuses and classes a check can expect.
const maxStatuses = 20

// parseAccepted reads texts such as "200-299" and "301". None at all is 200-299, Kuma's own
// default.
func parseAccepted(list []any) acceptedStatuses {
	var a acceptedStatuses
	for _, item := range list {
		text := kumaRow{"": item}.line("")
		lowText, highText, isRange := strings.Cut(text, "-")
		low, err := strconv.Atoi(strings.TrimSpace(lowText))
		high, other := low, error(nil)
		if isRange {
			high, other = strconv.Atoi(strings.TrimSpace(highText))
		}
		low, high = max(low, 100), min(high, 599)
		if err != nil || other != nil || low > high {
			a.wrong = append(a.wrong, cut(fmt.Sprint(item), maxName))
			continue
		}
		a.ranges = append(a.ranges, statusSpan{low, high})
	}
	if len(a.ranges) == 0 {
		a.ranges = []statusSpan{{200, 299}}
	}
	return a
}

// accepts reports whether a status means success.
func (a acceptedStatuses) accepts(status int) bool {
	for _, r := range a.ranges {
		if r.low <= status && status <= r.high {
			return true
		}
	}
	return false
}

// codes returns classes such as "2xx" and statuses; false when they are too many.
func (a acceptedStatuses) codes() ([]any, bool) {
	var codes []any
	for class := 100; class < 600; class += 100 {
		var single []any
		for status := class; status < class+100; status++ {
			if a.accepts(status) {
				single = append(single, status)
			}
		}
		if len(single) == 100 {
			single = []any{fmt.Sprintf("%dxx", class/100)}
		}
		codes = append(codes, single...)
	}
	return codes, len(codes) <= maxStatuses
}

// classes returns the classes that have a status that means success.
func (a acceptedStatuses) classes() []any {
	var codes []any
	for class := 100; class < 600; class += 100 {
		for status := class; status < class+100; status++ {
			if a.accepts(status) {
				codes = append(codes, fmt.Sprintf("%dxx", class/100))
				break
			}
		}
	}
	return codes
}
