// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"slices"
	"testing"
)

// TestListCheckTypes holds that the list says of each member what a form needs, without a credential, and that
// it says of no secret more than that it is one.
func TestListCheckTypes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var names []string
	for _, row := range b.want(t, http.StatusOK, http.MethodGet, "/v1/check-types", nil).rows(t) { // without a credential
		names = append(names, text(row, "type"))
		if text(row, "about") == "" {
			t.Errorf("%s does not say what it is for", text(row, "type"))
		}
		holdMembers(t, text(row, "type"), row["members"].([]any))
	}
	if len(names) != 14 || names[0] != "https" || slices.Contains(names, "drill") {
		t.Errorf("types %v", names)
	}
	if rows := b.want(t, http.StatusOK, http.MethodGet, "/v1/check-types?limit=2&offset=3", nil).rows(t); len(rows) != 2 ||
		text(rows[0], "type") != names[3] {
		t.Errorf("a page is %v", rows)
	}
}

func holdMembers(t *testing.T, of string, members []any) {
	t.Helper()
	for _, each := range members {
		member := each.(map[string]any)
		at := of + "." + text(member, "name")
		if text(member, "title") == "" || text(member, "description") == "" {
			t.Errorf("%s says too little: %v", at, member)
		}
		inner, _ := member["members"].([]any)
		options, _ := member["options"].([]any)
		switch input := text(member, "input"); {
		case (input == "group" || input == "rows") != (len(inner) > 0), (input == "choice" || input == "decision") != (len(options) > 0):
			t.Errorf("%s is entered as %s with %d members and %d options", at, input, len(inner), len(options))
		case text(member, "secret") == "value" && (text(member, "default") != "" || text(member, "sample") != ""):
			t.Errorf("%s is a secret and has a value", at)
		}
		holdMembers(t, at, inner)
	}
}
