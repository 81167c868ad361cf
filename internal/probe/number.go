// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"strconv"
	"strings"
)

// maxExponent is how many digits the exponent of a number may have: larger ones are no
// quantity of anything, and 18 digits fit in 64 bits.
const maxExponent = 18

// number is a decimal number, exactly: 0.digits times ten to the power. Comparing two takes time in
// proportion to their digits, and none for their exponents.
type number struct {
	negative bool
	digits   string // without zeros at either end; empty for zero
	power    int64
}

// parseNumber reads a decimal number: digits, with a sign, a fraction and an exponent where there are
// any. That is the grammar of JSON (RFC 8259, section 6), and more zeros and a plus sign before the
// digits. Words such as NaN and Inf, and other bases, are no numbers.
func parseNumber(text string) (number, bool) {
	var n number
	rest := text
	if strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, "+") {
		n.negative, rest = rest[0] == '-', rest[1:]
	}
	whole := leadingDigits(rest)
	rest = rest[len(whole):]
	fraction := ""
	if strings.HasPrefix(rest, ".") {
		if fraction = leadingDigits(rest[1:]); fraction == "" {
			return number{}, false
		}
		rest = rest[1+len(fraction):]
	}
	var exponent int64
	if strings.HasPrefix(rest, "e") || strings.HasPrefix(rest, "E") {
		var ok bool
		if exponent, ok = parseExponent(rest[1:]); !ok {
			return number{}, false
		}
		rest = ""
	}
	if whole == "" || rest != "" {
		return number{}, false
	}
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return number{}, true // zero has no sign and no power
	}
	n.power = exponent + int64(len(digits)-len(fraction))
	n.digits = strings.TrimRight(digits, "0")
	return n, true
}

// parseExponent reads what follows the E.
func parseExponent(text string) (int64, bool) {
	sign := int64(1)
	if strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+") {
		if text[0] == '-' {
			sign = -1
		}
		text = text[1:]
	}
	digits := leadingDigits(text)
	if digits == "" || digits != text {
		return 0, false
	}
	digits = strings.TrimLeft(digits, "0")
	if digits == "" {
		return 0, true
	}
	if len(digits) > maxExponent {
		return 0, false
	}
	value, err := strconv.ParseInt(digits, 10, 64)
	return sign * value, err == nil
}

// leadingDigits is the part of a text before the first other character.
func leadingDigits(text string) string {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return text[:i]
		}
	}
	return text
}

// compare returns -1, 0 or 1 when n is below, equal to or above other.
func (n number) compare(other number) int {
	switch {
	case n.sign() != other.sign():
		if n.sign() < other.sign() {
			return -1
		}
		return 1
	case n.negative:
		return other.compareSize(n)
	}
	return n.compareSize(other)
}

func (n number) sign() int {
	switch {
	case n.digits == "":
		return 0
	case n.negative:
		return -1
	}
	return 1
}

// compareSize compares without the signs, which are the same.
func (n number) compareSize(other number) int {
	switch {
	case n.power < other.power:
		return -1
	case n.power > other.power:
		return 1
	}
	// Digits without zeros at the end: the order of the texts is that of the numbers.
	return strings.Compare(n.digits, other.digits)
}
