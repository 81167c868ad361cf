// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// The functions below read values of Terraform. A value of another type is a mistake of
// the provider, not of its user.

func must(err error) {
	if err != nil {
		panic(fmt.Sprintf("a value has another type than its schema says: %v", err))
	}
}

// known reports whether a value is neither absent nor to be known later.
func known(v tftypes.Value) bool { return v.Type() != nil && v.IsKnown() && !v.IsNull() }

func textOf(v tftypes.Value) string {
	var s string
	if known(v) {
		must(v.As(&s))
	}
	return s
}

func itemsOf(v tftypes.Value) []tftypes.Value {
	var items []tftypes.Value
	if known(v) {
		must(v.As(&items))
	}
	return items
}

// partsOf returns the members of an object or a map; nil when it is absent, unknown, or
// something else.
func partsOf(v tftypes.Value) map[string]tftypes.Value {
	var parts map[string]tftypes.Value
	if known(v) && (v.Type().Is(tftypes.Object{}) || v.Type().Is(tftypes.Map{})) {
		must(v.As(&parts))
	}
	return parts
}

func text(s string) tftypes.Value { return tftypes.NewValue(tftypes.String, s) }

// null returns the absent value of a field.
func (f *field) null() tftypes.Value { return tftypes.NewValue(f.tfType(), nil) }

// unknown returns the value of a field that is known after the apply.
func (f *field) unknown() tftypes.Value { return tftypes.NewValue(f.tfType(), tftypes.UnknownValue) }

// plain returns a scalar of the API as text.
func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case json.Number:
		return v.String()
	}
	return fmt.Sprint(v)
}

// scalar returns a text as the API has it: true, false and whole numbers are no texts.
func scalar(s string) any {
	if s == "true" || s == "false" {
		return s == "true"
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && strconv.FormatInt(n, 10) == s {
		return json.Number(s)
	}
	return s
}

// number reads a number of the API as Terraform reads one of a file.
func number(v any) (*big.Float, bool) {
	n, _, err := big.ParseFloat(plain(v), 10, 512, big.ToNearestEven)
	return n, err == nil
}

// sameInstant reports whether two texts are the same time.
func sameInstant(a, b string) bool {
	x, errX := time.Parse(time.RFC3339Nano, a)
	y, errY := time.Parse(time.RFC3339Nano, b)
	return errX == nil && errY == nil && x.Equal(y)
}
