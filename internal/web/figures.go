// SPDX-License-Identifier: Apache-2.0

package web

import (
	"math"
	"strconv"
	"strings"
)

// thin separates thousands.
const thin = "\u2009"

// number writes a whole number with a thin space between thousands.
func number(n int64) string {
	text := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, text = "-", text[1:]
	}
	var out strings.Builder
	for i, digit := range text {
		if i > 0 && (len(text)-i)%3 == 0 {
			out.WriteString(thin)
		}
		out.WriteRune(digit)
	}
	return sign + out.String()
}

// percent writes a share in percent with two decimals, rounded down, so that only a whole
// is 100.
func percent(p float64) string {
	if p >= 100 {
		return "100"
	}
	return strconv.FormatFloat(math.Floor(p*100+1e-9)/100, 'f', 2, 64)
}

// percentOr writes a share that may be unknown; a dash says that it is.
func percentOr(p *float64) string {
	if p == nil {
		return "–"
	}
	return percent(*p)
}

// millis writes milliseconds as a whole number; below 1 with one decimal.
func millis(ms float64) string {
	if ms > 0 && ms < 0.95 {
		return strconv.FormatFloat(ms, 'f', 1, 64)
	}
	return number(int64(math.Round(ms)))
}

// millisOr writes milliseconds that may be unknown.
func millisOr(ms *float64) string {
	if ms == nil {
		return "–"
	}
	return millis(*ms)
}

// counted writes a number with its noun: 1 check, 3 checks.
func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return number(n) + " " + plural(noun)
}

// plural is the plural of a noun that the pages count, such as delivery.
func plural(noun string) string {
	if stem, ok := strings.CutSuffix(noun, "y"); ok && !strings.ContainsAny(stem[len(stem)-1:], "aeiou") {
		return stem + "ies"
	}
	return noun + "s"
}

// listed writes names as a sentence does: a, b and c.
func listed(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
