// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"fmt"
	"reflect"
	"strconv"
	"time"
)

// CheckRanges compares each setting with the tags min and max of its field.
func CheckRanges(s *Settings) []error {
	var errs []error
	values := reflect.ValueOf(s).Elem()
	for _, setting := range AllSettings() {
		low, high := setting.Field.Tag.Get("min"), setting.Field.Tag.Get("max")
		value := values.FieldByIndex(setting.Field.Index)
		// Without the negations NaN would be in every range.
		if (low == "" || number(value) >= Limit(value, low)) && (high == "" || number(value) <= Limit(value, high)) {
			continue
		}
		errs = append(errs, wrongSetting(setting.Variable, fmt.Errorf("is %v; it must %s", value, setting.rangeText())))
	}
	return errs
}

// rangeText completes "it must" with the range of the value.
func (s Setting) rangeText() string {
	low, high := s.Field.Tag.Get("min"), s.Field.Tag.Get("max")
	text := "be at least " + low
	if high != "" {
		text = fmt.Sprintf("lie between %s and %s", low, high)
	}
	if why := s.Field.Tag.Get("because"); why != "" {
		text += ", since " + why
	}
	return text
}

// number is the value of a setting that has a range: a number, or a duration in seconds.
func number(value reflect.Value) float64 {
	switch {
	case value.Type() == reflect.TypeFor[time.Duration]():
		return time.Duration(value.Int()).Seconds()
	case value.CanInt():
		return float64(value.Int())
	default:
		return value.Float()
	}
}

// Limit parses the end of a range. A tag that is wrong panics in every test of settings.
func Limit(value reflect.Value, text string) float64 {
	if value.Type() == reflect.TypeFor[time.Duration]() {
		if d, err := parseDuration(text); err == nil {
			return d.Seconds()
		}
	} else if n, err := strconv.ParseFloat(text, 64); err == nil {
		return n
	}
	panic(fmt.Sprintf("the range of a setting ends at %q", text))
}
