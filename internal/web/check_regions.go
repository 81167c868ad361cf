// SPDX-License-Identifier: Apache-2.0

package web

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil/client"
)

// regionsView are the regions of the form: the primary ones, then the others by continent.
type regionsView struct {
	Field *field // names what is wrong
	// Locations are those of the organization, which come first.
	Locations []regionChoice
	Primary   []regionChoice
	Others    []continent
	Chosen    int
	Total     int
	Open      bool // the others are shown
	Note      string
}

// continent is a group of regions.
type continent struct {
	Name    string
	Regions []regionChoice
}

// regionChoice is a region to choose.
type regionChoice struct {
	Key, City string
	Chosen    bool
	Note      string // why it may not answer
	Search    string // what a filter looks at, in lower case
}

// regions makes the list of regions.
func (c *checkForm) regions() (regionsView, error) {
	known, err := c.r.s.regions.all(c.r.Context(), c.r.api)
	if err != nil {
		return regionsView{}, err
	}
	v := regionsView{Field: &field{Name: "regions", Label: "Regions", Type: "group"}, Total: len(known)}
	c.fields = append(c.fields, v.Field)
	if err := c.addLocations(&v); err != nil {
		return regionsView{}, err
	}
	for _, region := range inOrder(known) {
		choice := regionChoice{
			Key: region.Key, City: region.City, Chosen: slices.Contains(c.typed.Values["regions"], region.Key), Note: noteOf(region, c.kind),
			Search: strings.ToLower(region.Key + " " + region.Name + " " + region.Country + " " + region.Continent),
		}
		if choice.Chosen {
			v.Chosen++
		}
		if region.Primary {
			v.Primary = append(v.Primary, choice)
			continue
		}
		v.Open = v.Open || choice.Chosen
		if n := len(v.Others); n == 0 || v.Others[n-1].Name != region.Continent {
			v.Others = append(v.Others, continent{Name: region.Continent})
		}
		last := &v.Others[len(v.Others)-1]
		last.Regions = append(last.Regions, choice)
	}
	if v.Chosen > 1 && c.typed.Has("simultaneous_regions") {
		v.Note = ", at the same instants"
	}
	return v, nil
}

// addLocations offers the locations of the organization.
func (c *checkForm) addLocations(v *regionsView) error {
	all, err := c.r.readLocations()
	if err != nil {
		return err
	}
	for i := range all {
		l := &all[i]
		choice := regionChoice{Key: l.Key, City: l.Name, Chosen: slices.Contains(c.typed.Values["regions"], l.Key)}
		if l.State != client.LocationStateOnline {
			choice.Note = "no agent"
		}
		if choice.Chosen {
			v.Chosen++
		}
		v.Locations = append(v.Locations, choice)
	}
	v.Total += len(all)
	return nil
}

// noteOf says why a region may not answer.
func noteOf(region client.Region, kind string) string {
	switch {
	case region.Status != client.RegionStatus("online"):
		return "offline"
	case slices.Contains(region.UnavailableTypes, kind):
		return "no " + kind
	case region.BlindSince != nil:
		return "no line"
	}
	return ""
}

// inOrder sorts regions by continent and city.
func inOrder(known map[string]client.Region) []client.Region {
	list := make([]client.Region, 0, len(known))
	for _, region := range known {
		list = append(list, region)
	}
	slices.SortFunc(list, func(a, b client.Region) int {
		return cmp.Or(cmp.Compare(rankOf(a.Continent), rankOf(b.Continent)), cmp.Compare(a.City, b.City))
	})
	return list
}

func rankOf(continent string) int {
	return slices.Index([]string{"Europe", "North America", "Asia Pacific", "South America", "Australia", "Africa"}, continent)
}

// chooseRegions chooses regions for a new check: primary ones that are online, three of
// them, or one where the plan has only one.
func (c *checkForm) chooseRegions() error {
	known, err := c.r.s.regions.all(c.r.Context(), c.r.api)
	if err != nil {
		return err
	}
	usage, err := c.r.api.GetUsageWithResponse(c.r.Context())
	if err != nil {
		return err
	}
	most := 3
	if usage.JSON200.Data.Tier == "free" {
		most = 1
	}
	for _, region := range inOrder(known) {
		if region.Primary && noteOf(region, c.kind) == "" && len(c.typed.Values["regions"]) < most {
			c.typed.Add("regions", region.Key)
		}
	}
	if len(c.typed.Values["regions"]) == 0 { // none is online; the API's default is as good as any
		c.typed.Set("regions", "na-east-ewr")
	}
	return nil
}
