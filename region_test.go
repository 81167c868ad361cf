// SPDX-License-Identifier: Apache-2.0

package vigil_test

import (
	"math"
	"regexp"
	"slices"
	"testing"

	"github.com/vigil-monitor/vigil"
)

func TestRegions(t *testing.T) {
	t.Parallel()
	regions := vigil.Regions()

	t.Run("CountPerContinentIsThatOfTheSpec", func(t *testing.T) {
		t.Parallel()
		want := map[string]int{
			"North America": 11, "South America": 2, "Europe": 9, "Asia Pacific": 8, "Australia": 2, "Africa": 1,
		}
		prefixes := map[string]string{
			"North America": "na-", "South America": "sa-", "Europe": "eu-", "Asia Pacific": "ap-", "Australia": "au-", "Africa": "af-",
		}
		got := map[string]int{}
		for _, region := range regions {
			got[region.Continent]++
			if region.Key[:3] != prefixes[region.Continent] {
				t.Errorf("%s is in %q", region.Key, region.Continent)
			}
		}
		for continent, n := range want {
			if got[continent] != n {
				t.Errorf("%s has %d regions, want %d", continent, got[continent], n)
			}
		}
		if len(regions) != 33 {
			t.Errorf("%d regions, want 33", len(regions))
		}
	})

	t.Run("EveryMemberIsFilledIn", func(t *testing.T) {
		t.Parallel()
		form := regexp.MustCompile(`^(na|sa|eu|ap|au|af)-(north|northeast|east|southeast|south|southwest|west|northwest|central)-[a-z]{3}$`)
		for _, r := range regions {
			if !form.MatchString(r.Key) {
				t.Errorf("key %q has not the form of a region key", r.Key)
			}
			if r.Name == "" || r.City == "" || r.Country == "" || len(r.CountryCode) != 2 || len(r.AirportCode) != 3 {
				t.Errorf("%s is incomplete: %+v", r.Key, r)
			}
			if r.Latitude == 0 || r.Longitude == 0 || math.Abs(r.Latitude) > 90 || math.Abs(r.Longitude) > 180 {
				t.Errorf("%s lies at %v, %v", r.Key, r.Latitude, r.Longitude)
			}
		}
	})

	t.Run("SixArePrimary", func(t *testing.T) {
		t.Parallel()
		var primary []string
		for _, r := range regions {
			if r.Primary {
				primary = append(primary, r.Name)
			}
		}
		want := []string{
			"Newark, USA", "São Paulo, Brazil", "Frankfurt, Germany", "Singapore", "Sydney, Australia", "Johannesburg, South Africa",
		}
		if !slices.Equal(primary, want) {
			t.Errorf("primary regions are %q, want %q", primary, want)
		}
	})

	t.Run("NoTwoNamesAreTheSame", func(t *testing.T) {
		t.Parallel()
		owner := map[string]string{}
		for _, r := range regions {
			for _, name := range append([]string{r.Key}, r.Aliases...) {
				if other, taken := owner[name]; taken {
					t.Errorf("%q names both %s and %s", name, other, r.Key)
				}
				owner[name] = r.Key
			}
		}
	})

	t.Run("TheCallerOwnsWhatItGets", func(t *testing.T) {
		t.Parallel()
		mine := vigil.Regions()
		mine[0].Key, mine[0].Aliases[0] = "changed", "changed"
		if again := vigil.Regions(); again[0].Key != "na-east-ewr" || again[0].Aliases[0] != "us-east-1" {
			t.Errorf("a change to the slice is seen by others: %+v", again[0])
		}
	})
}

func TestRegionByKey(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"na-east-ewr":            "na-east-ewr",
		vigil.DefaultRegionAlias: "na-east-ewr",
		"us-west-2":              "na-northwest-sea",
		"europe-west3":           "eu-central-fra",
		"westeurope":             "eu-west-ams",
		"ap-southeast-2":         "au-southeast-syd",
		"southafricanorth":       "af-south-jnb",
		"US-EAST-1":              "",
		"na-east":                "",
		"atlantis-1":             "",
		"":                       "",
	}
	for name, want := range tests {
		got, ok := vigil.RegionByKey(name)
		if got.Key != want || ok != (want != "") {
			t.Errorf("RegionByKey(%q) is %q, %t; want %q", name, got.Key, ok, want)
		}
	}
	for _, key := range vigil.RegionKeys() {
		if got, ok := vigil.RegionByKey(key); !ok || got.Key != key {
			t.Errorf("RegionByKey(%q) is %q, %t", key, got.Key, ok)
		}
	}
}

// Every alias must mean the region that is nearest to where that cloud really
// stands, and every cloud region of the list must be known.
func TestRegionAliases(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, cloud := range cloudRegions() {
		known[cloud.name] = true
		got, ok := vigil.RegionByKey(cloud.name)
		if !ok {
			t.Errorf("%s (%s) means no region", cloud.name, cloud.city)
			continue
		}
		nearest := slices.MinFunc(vigil.Regions(), func(a, b vigil.Region) int {
			if kilometres(cloud.latitude, cloud.longitude, a) < kilometres(cloud.latitude, cloud.longitude, b) {
				return -1
			}
			return 1
		})
		if got.Key != nearest.Key {
			t.Errorf("%s (%s) means %s; %s is nearer", cloud.name, cloud.city, got.Key, nearest.Key)
		}
	}
	for _, r := range vigil.Regions() {
		for _, alias := range r.Aliases {
			if !known[alias] {
				t.Errorf("alias %s of %s is no cloud region that the test knows: add where it stands", alias, r.Key)
			}
		}
	}
}

// kilometres is the great circle distance (haversine).
func kilometres(latitude, longitude float64, r vigil.Region) float64 {
	rad := func(degrees float64) float64 { return degrees * math.Pi / 180 }
	u, v := math.Sin(rad(r.Latitude-latitude)/2), math.Sin(rad(r.Longitude-longitude)/2)
	return 2 * 6371 * math.Asin(math.Sqrt(u*u+math.Cos(rad(latitude))*math.Cos(rad(r.Latitude))*v*v))
}

type cloudRegion struct {
	name, city          string
	latitude, longitude float64
}

// cloudRegions are the public regions of AWS, Google Cloud and Azure and the
// places that the providers name for them.
func cloudRegions() []cloudRegion {
	return []cloudRegion{
		{"us-east-1", "Ashburn", 39.04, -77.49},
		{"us-east-2", "Columbus", 39.96, -83.0},
		{"us-west-1", "Santa Clara", 37.35, -121.96},
		{"us-west-2", "Boardman", 45.84, -119.7},
		{"ca-central-1", "Montreal", 45.5, -73.57},
		{"ca-west-1", "Calgary", 51.05, -114.07},
		{"mx-central-1", "Querétaro", 20.59, -100.39},
		{"sa-east-1", "São Paulo", -23.55, -46.63},
		{"eu-central-1", "Frankfurt", 50.11, 8.68},
		{"eu-central-2", "Zurich", 47.38, 8.54},
		{"eu-north-1", "Stockholm", 59.33, 18.07},
		{"eu-south-1", "Milan", 45.46, 9.19},
		{"eu-south-2", "Zaragoza", 41.65, -0.88},
		{"eu-west-1", "Dublin", 53.35, -6.26},
		{"eu-west-2", "London", 51.51, -0.13},
		{"eu-west-3", "Paris", 48.86, 2.35},
		{"il-central-1", "Tel Aviv", 32.07, 34.78},
		{"me-central-1", "Dubai", 25.2, 55.27},
		{"me-south-1", "Manama", 26.23, 50.59},
		{"af-south-1", "Cape Town", -33.92, 18.42},
		{"ap-east-1", "Hong Kong", 22.32, 114.17},
		{"ap-east-2", "Taipei", 25.03, 121.57},
		{"ap-south-1", "Mumbai", 19.08, 72.88},
		{"ap-south-2", "Hyderabad", 17.39, 78.49},
		{"ap-southeast-1", "Singapore", 1.35, 103.82},
		{"ap-southeast-2", "Sydney", -33.87, 151.21},
		{"ap-southeast-3", "Jakarta", -6.21, 106.85},
		{"ap-southeast-4", "Melbourne", -37.81, 144.96},
		{"ap-southeast-5", "Kuala Lumpur", 3.14, 101.69},
		{"ap-southeast-6", "Auckland", -36.85, 174.76},
		{"ap-southeast-7", "Bangkok", 13.76, 100.5},
		{"ap-northeast-1", "Tokyo", 35.68, 139.65},
		{"ap-northeast-2", "Seoul", 37.57, 126.98},
		{"ap-northeast-3", "Osaka", 34.69, 135.5},
		{"africa-south1", "Johannesburg", -26.2, 28.05},
		{"asia-east1", "Changhua", 24.08, 120.54},
		{"asia-east2", "Hong Kong", 22.32, 114.17},
		{"asia-northeast1", "Tokyo", 35.68, 139.65},
		{"asia-northeast2", "Osaka", 34.69, 135.5},
		{"asia-northeast3", "Seoul", 37.57, 126.98},
		{"asia-south1", "Mumbai", 19.08, 72.88},
		{"asia-south2", "Delhi", 28.61, 77.21},
		{"asia-southeast1", "Singapore", 1.35, 103.82},
		{"asia-southeast2", "Jakarta", -6.21, 106.85},
		{"asia-southeast3", "Bangkok", 13.76, 100.5},
		{"australia-southeast1", "Sydney", -33.87, 151.21},
		{"australia-southeast2", "Melbourne", -37.81, 144.96},
		{"europe-central2", "Warsaw", 52.23, 21.01},
		{"europe-north1", "Hamina", 60.57, 27.2},
		{"europe-north2", "Stockholm", 59.33, 18.07},
		{"europe-southwest1", "Madrid", 40.42, -3.7},
		{"europe-west1", "Saint-Ghislain", 50.47, 3.82},
		{"europe-west2", "London", 51.51, -0.13},
		{"europe-west3", "Frankfurt", 50.11, 8.68},
		{"europe-west4", "Eemshaven", 53.44, 6.83},
		{"europe-west6", "Zurich", 47.38, 8.54},
		{"europe-west8", "Milan", 45.46, 9.19},
		{"europe-west9", "Paris", 48.86, 2.35},
		{"europe-west10", "Berlin", 52.52, 13.4},
		{"europe-west12", "Turin", 45.07, 7.69},
		{"me-central1", "Doha", 25.29, 51.53},
		{"me-central2", "Dammam", 26.42, 50.09},
		{"me-west1", "Tel Aviv", 32.07, 34.78},
		{"northamerica-northeast1", "Montreal", 45.5, -73.57},
		{"northamerica-northeast2", "Toronto", 43.65, -79.38},
		{"northamerica-south1", "Querétaro", 20.59, -100.39},
		{"southamerica-east1", "São Paulo", -23.55, -46.63},
		{"southamerica-west1", "Santiago", -33.45, -70.67},
		{"us-central1", "Council Bluffs", 41.26, -95.86},
		{"us-east1", "Moncks Corner", 33.2, -80.01},
		{"us-east4", "Ashburn", 39.04, -77.49},
		{"us-east5", "Columbus", 39.96, -83.0},
		{"us-south1", "Dallas", 32.78, -96.8},
		{"us-west1", "The Dalles", 45.59, -121.18},
		{"us-west2", "Los Angeles", 34.05, -118.24},
		{"us-west3", "Salt Lake City", 40.76, -111.89},
		{"us-west4", "Las Vegas", 36.17, -115.14},
		{"eastus", "Ashburn", 39.04, -77.49},
		{"eastus2", "Boydton", 36.67, -78.39},
		{"centralus", "Des Moines", 41.59, -93.62},
		{"northcentralus", "Chicago", 41.88, -87.63},
		{"southcentralus", "San Antonio", 29.42, -98.49},
		{"westcentralus", "Cheyenne", 41.14, -104.82},
		{"westus", "San Francisco", 37.78, -122.42},
		{"westus2", "Quincy", 47.23, -119.85},
		{"westus3", "Phoenix", 33.45, -112.07},
		{"canadacentral", "Toronto", 43.65, -79.38},
		{"canadaeast", "Quebec City", 46.81, -71.21},
		{"mexicocentral", "Querétaro", 20.59, -100.39},
		{"brazilsouth", "São Paulo", -23.55, -46.63},
		{"brazilsoutheast", "Rio de Janeiro", -22.91, -43.17},
		{"chilecentral", "Santiago", -33.45, -70.67},
		{"northeurope", "Dublin", 53.35, -6.26},
		{"westeurope", "Amsterdam", 52.37, 4.9},
		{"uksouth", "London", 51.51, -0.13},
		{"ukwest", "Cardiff", 51.48, -3.18},
		{"francecentral", "Paris", 48.86, 2.35},
		{"francesouth", "Marseille", 43.3, 5.37},
		{"germanywestcentral", "Frankfurt", 50.11, 8.68},
		{"germanynorth", "Berlin", 52.52, 13.4},
		{"switzerlandnorth", "Zurich", 47.38, 8.54},
		{"switzerlandwest", "Geneva", 46.2, 6.14},
		{"norwayeast", "Oslo", 59.91, 10.75},
		{"norwaywest", "Stavanger", 58.97, 5.73},
		{"swedencentral", "Gävle", 60.67, 17.14},
		{"denmarkeast", "Copenhagen", 55.68, 12.57},
		{"polandcentral", "Warsaw", 52.23, 21.01},
		{"italynorth", "Milan", 45.46, 9.19},
		{"spaincentral", "Madrid", 40.42, -3.7},
		{"austriaeast", "Vienna", 48.21, 16.37},
		{"belgiumcentral", "Brussels", 50.85, 4.35},
		{"israelcentral", "Tel Aviv", 32.07, 34.78},
		{"qatarcentral", "Doha", 25.29, 51.53},
		{"uaenorth", "Dubai", 25.2, 55.27},
		{"uaecentral", "Abu Dhabi", 24.45, 54.38},
		{"southafricanorth", "Johannesburg", -26.2, 28.05},
		{"southafricawest", "Cape Town", -33.92, 18.42},
		{"centralindia", "Pune", 18.52, 73.86},
		{"southindia", "Chennai", 13.08, 80.27},
		{"westindia", "Mumbai", 19.08, 72.88},
		{"jioindiacentral", "Nagpur", 21.15, 79.09},
		{"jioindiawest", "Jamnagar", 22.47, 70.07},
		{"southeastasia", "Singapore", 1.35, 103.82},
		{"eastasia", "Hong Kong", 22.32, 114.17},
		{"japaneast", "Tokyo", 35.68, 139.65},
		{"japanwest", "Osaka", 34.69, 135.5},
		{"koreacentral", "Seoul", 37.57, 126.98},
		{"koreasouth", "Busan", 35.18, 129.08},
		{"indonesiacentral", "Jakarta", -6.21, 106.85},
		{"malaysiawest", "Kuala Lumpur", 3.14, 101.69},
		{"newzealandnorth", "Auckland", -36.85, 174.76},
		{"australiaeast", "Sydney", -33.87, 151.21},
		{"australiasoutheast", "Melbourne", -37.81, 144.96},
		{"australiacentral", "Canberra", -35.28, 149.13},
		{"australiacentral2", "Canberra", -35.28, 149.13},
	}
}

func TestWorkerRegion(t *testing.T) {
	t.Parallel()
	for region, want := range map[string]string{
		"loc-office": vigil.LocationsRegion, "loc-": vigil.LocationsRegion, "na-east-ewr": "na-east-ewr", "locations": "locations",
		vigil.HeartbeatRegion: vigil.HeartbeatRegion,
	} {
		if got := vigil.WorkerRegion(region); got != want {
			t.Errorf("loops of %s run at workers of %s, want %s", region, got, want)
		}
	}
}
