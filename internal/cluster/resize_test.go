// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"os"
	"strings"
	"testing"
)

// TestResize adds and removes hosts: the next one has a name and an address of its own, and one that was removed comes back.
func TestResize(t *testing.T) {
	t.Parallel()
	c := prepared(t)
	if err := os.Mkdir(c.path("logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	names := func(kind Kind, region string) string {
		var all []string
		for _, h := range c.ofKind(kind, region) {
			all = append(all, h.Name)
		}
		return strings.Join(all, " ")
	}
	if _, err := c.Add(KindHistory, ""); err != nil {
		t.Fatal(err)
	}
	if got := names(KindHistory, ""); got != "history-1 history-2 history-3 history-4" {
		t.Errorf("history hosts are %s", got)
	}
	for range 2 {
		if _, err := c.Add(KindWorker, farRegion); err != nil {
			t.Fatal(err)
		}
	}
	first, err := c.Host(farRegion + "-1")
	if err != nil {
		t.Fatal(err)
	}
	c.Remove(t.Context(), first)
	if got := names(KindWorker, farRegion); got != "ap-southeast-sin-2 ap-southeast-sin-3 ap-southeast-sin-4" {
		t.Errorf("workers are %s", got)
	}
	back, err := c.Add(KindWorker, farRegion)
	if err != nil || back != first {
		t.Errorf("%v came back, %v", back, err)
	}
	seen := make(map[string]bool)
	for _, h := range c.All() {
		if seen[h.Address] {
			t.Errorf("%s has the address of another host, %s", h.Name, h.Address)
		}
		seen[h.Address] = true
	}
	if relay := c.Hosts(KindRelay)[0].Address; !strings.Contains(strings.Join(back.programs[0].env, " "), relay) {
		t.Error("a worker of the far region does not go by the relay")
	}
	for range mostOfKind - 4 {
		if _, err := c.Add(KindHistory, ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Add(KindHistory, ""); err == nil || !strings.Contains(err.Error(), "9 of history at most") {
		t.Errorf("a tenth history host: %v", err)
	}
	if _, err := c.Add(KindAPI, ""); err == nil || !strings.Contains(err.Error(), "the proxy has its address") {
		t.Errorf("one more host of the API: %v", err)
	}
}
