// SPDX-License-Identifier: Apache-2.0

package web

import "testing"

// TestEveryTemplateParses tests all pages, since the server parses a page when it is first
// used.
func TestEveryTemplateParses(t *testing.T) {
	t.Parallel()
	assets, err := readAssets()
	if err != nil {
		t.Fatal(err)
	}
	pages, err := parseTemplates(assets)
	if err != nil || len(pages) == 0 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for name, parse := range pages {
		if page, err := parse(); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if page.Lookup("layout") == nil {
			t.Errorf("%s has no layout", name)
		}
	}
}
