// SPDX-License-Identifier: Apache-2.0

package account_test

import (
	"slices"
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
)

func TestParseScopes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		given []string
		want  []account.Scope
	}{
		{[]string{"read"}, []account.Scope{account.ScopeRead}},
		{[]string{"admin", "read", "admin"}, []account.Scope{account.ScopeRead, account.ScopeAdmin}},
		{[]string{"write", "respond", "admin", "read"}, account.Scopes()},
		{nil, nil},
		{[]string{}, nil},
		{[]string{""}, nil},
		{[]string{"read", "Read"}, nil},
		{[]string{"all"}, nil},
	} {
		got, err := account.ParseScopes("scopes", c.given)
		if !slices.Equal(got, c.want) || (vigil.ErrorCode(err) == vigil.CodeInvalid) != (c.want == nil) {
			t.Errorf("%q: %v, %v", c.given, got, err)
		}
	}
}
