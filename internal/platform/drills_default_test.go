// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/vigil-monitor/vigil"
)

// The zone is one that the schedule may have, in each way that a machine says it.
func TestZoneOfTheMachine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := func(name, target string) string {
		path := filepath.Join(dir, name)
		if err := os.Symlink(target, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	file := filepath.Join(dir, "timezone")
	if err := os.WriteFile(file, []byte("Asia/Tokyo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	berlin, none := link("berlin", "../usr/share/zoneinfo/Europe/Berlin"), filepath.Join(dir, "none")
	for _, tt := range []struct{ process, link, file, want string }{
		{"America/New_York", berlin, file, "America/New_York"},
		{"Local", berlin, file, "Europe/Berlin"},
		{"Local", link("mac", "/var/db/timezone/zoneinfo/Pacific/Auckland"), none, "Pacific/Auckland"},
		{"Local", link("odd", "/etc/my-own-zone"), file, "Asia/Tokyo"},
		{"Local", none, file, "Asia/Tokyo"},
		{"Local", none, none, "UTC"},
		{"UTC", none, none, "UTC"},
	} {
		if got := zoneOf(tt.process, tt.link, tt.file); got != tt.want {
			t.Errorf("%+v is %s", tt, got)
		}
	}
}

// The processes of a role make no schedule.
func TestRolesHaveNoDefaultDrills(t *testing.T) {
	t.Parallel()
	if make := (&Platform{}).makeDefaultDrills(); make != nil {
		t.Error("a platform that is not of vigil up makes one")
	}
}

// The drill runs where somebody probes.
func TestDefaultDrillsRunInAServedRegion(t *testing.T) {
	t.Parallel()
	region, _ := vigil.RegionByKey(vigil.DefaultRegionAlias)
	if d := defaultDrills([]string{"eu-central-fra", region.Key}, "UTC"); d.Regions != nil {
		t.Errorf("with the default region it names %v", d.Regions)
	}
	if d := defaultDrills([]string{"eu-central-fra", "ap-southeast-sin"}, "UTC"); len(d.Regions) != 1 || d.Regions[0] != "eu-central-fra" {
		t.Errorf("without the default region it names %v", d.Regions)
	}
}
