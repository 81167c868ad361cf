// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"slices"
	"testing"
)

// channelConfigs are right configs, by channel type.
func channelConfigs() map[string]string {
	return map[string]string{
		"chat":    `{"webhook_url":"https://example.com/hook"}`,
		"email":   `{"to":["ada@example.com"]}`,
		"pager":   `{"routing_key":"abc"}`,
		"push":    `{"topic":"alerts"}`,
		"webhook": `{"url":"https://example.com/hook","headers":{"X-A":"b"},"secret":"s"}`,
	}
}

// TestListChannelTypes holds that the list says of each member and format what a form needs, and that each
// format takes members that there are.
func TestListChannelTypes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var names []string
	for _, row := range b.want(t, http.StatusOK, http.MethodGet, "/v1/channel-types", nil).rows(t) { // without a credential
		names = append(names, text(row, "type"))
		var members []string
		for _, each := range row["members"].([]any) {
			member := each.(map[string]any)
			members = append(members, text(member, "name"))
			if text(member, "description") == "" || text(member, "title") == "" && text(member, "name") != "email" {
				t.Errorf("%s: member %v", text(row, "type"), member)
			}
		}
		for _, each := range row["formats"].([]any) {
			format := each.(map[string]any)
			taken := append(format["requires"].([]any), format["takes"].([]any)...)
			if text(format, "title") == "" || len(format["requires"].([]any)) == 0 || slices.ContainsFunc(taken, func(name any) bool {
				return !slices.Contains(members, name.(string))
			}) {
				t.Errorf("%s: format %v", text(row, "type"), format)
			}
		}
	}
	if want := []string{"webhook", "email", "push", "chat", "pager"}; !slices.Equal(names, want) {
		t.Errorf("types %v, want %v", names, want)
	}
}
