// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"slices"
	"testing"

	"github.com/vigil-monitor/vigil"
)

func TestParseScopes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		given []string
		want  []vigil.Scope
	}{
		{[]string{"read"}, []vigil.Scope{vigil.ScopeRead}},
		{[]string{"admin", "read", "admin"}, []vigil.Scope{vigil.ScopeRead, vigil.ScopeAdmin}},
		{[]string{"write", "respond", "admin", "read"}, vigil.Scopes()},
		{nil, nil},
		{[]string{}, nil},
		{[]string{""}, nil},
		{[]string{"read", "Read"}, nil},
		{[]string{"all"}, nil},
	} {
		got, err := vigil.ParseScopes("scopes", c.given)
		if !slices.Equal(got, c.want) || (vigil.ErrorCode(err) == vigil.CodeInvalid) != (c.want == nil) {
			t.Errorf("%q: %v, %v", c.given, got, err)
		}
	}
}
