// SPDX-License-Identifier: Apache-2.0

package vigil

import (
	"slices"
	"strings"
)

// Region is a place that checks are probed from (spec section 2, Region).
type Region struct {
	Key         string // <continent>-<compass position>-<airport code>
	Name        string // for display, such as Newark, USA
	City        string
	Country     string
	CountryCode string // ISO 3166-1 alpha-2
	Continent   string
	AirportCode string // IATA, upper case
	Latitude    float64
	Longitude   float64
	Primary     bool     // open to every tier
	Aliases     []string // names of nearby cloud regions
}

// DefaultRegionAlias is the region of a check without regions (spec section 2).
const DefaultRegionAlias = "us-east-1"

// LocationPrefix begins the key of a location: a place of one organization that agents probe from.
const LocationPrefix = "loc-"

// LocationsRegion is the region of which workers run the loops of all locations.
const LocationsRegion = "locations"

// IsLocation reports whether a key of a region is that of a location. Two organizations may have
// locations of the same key.
func IsLocation(region string) bool { return strings.HasPrefix(region, LocationPrefix) }

// WorkerRegion returns the region that a worker serves to run the loops of a region: the same one,
// and LocationsRegion for a location. Polls of a queue for each location would cost more than what
// comes from it.
func WorkerRegion(region string) string {
	if IsLocation(region) {
		return LocationsRegion
	}
	return region
}

// Regions returns the 33 regions in the order in which people are shown them.
// The slice belongs to the caller.
//
// Coordinates are those of the city. Aliases are the names of the public
// regions of AWS, Google Cloud and Azure, in this order, each given to the one
// of our regions that is nearest by great circle; a test holds that.
func Regions() []Region {
	return slices.Concat(northAmerica(), southAmerica(), europe(), asiaPacific(), australia(), africa())
}

// RegionByKey returns the region that a key or a cloud provider's name means.
// Both are lower case and are compared as they are.
func RegionByKey(keyOrAlias string) (Region, bool) {
	for _, region := range Regions() {
		if region.Key == keyOrAlias || slices.Contains(region.Aliases, keyOrAlias) {
			return region, true
		}
	}
	return Region{}, false
}

// RegionKeys returns the keys of all regions, in the order of Regions.
func RegionKeys() []string {
	regions := Regions()
	keys := make([]string, len(regions))
	for i, region := range regions {
		keys[i] = region.Key
	}
	return keys
}

// place returns the region of a city; the continent and the airport come from its key.
func place(key, city, countryCode string, latitude, longitude float64, aliases ...string) Region {
	country := countryName(countryCode)
	name := city
	switch country {
	case city:
	case "United States":
		name += ", USA" // as the spec has it
	default:
		name += ", " + country
	}
	return Region{
		Key: key, Name: name, City: city, Country: country, CountryCode: countryCode,
		Continent:   continentName(key[:2]),
		AirportCode: strings.ToUpper(key[strings.LastIndexByte(key, '-')+1:]),
		Latitude:    latitude, Longitude: longitude,
		Primary: isPrimary(key), Aliases: aliases,
	}
}

// isPrimary reports whether a region is one of the six of every tier (spec section 2).
func isPrimary(key string) bool {
	switch key {
	case "na-east-ewr", "sa-east-sao", "eu-central-fra", "ap-southeast-sin", "au-southeast-syd", "af-south-jnb":
		return true
	}
	return false
}

func continentName(prefix string) string {
	switch prefix {
	case "na":
		return "North America"
	case "sa":
		return "South America"
	case "eu":
		return "Europe"
	case "ap":
		return "Asia Pacific"
	case "au":
		return "Australia"
	case "af":
		return "Africa"
	}
	return ""
}

func countryName(code string) string {
	switch code {
	case "US":
		return "United States"
	case "CA":
		return "Canada"
	case "MX":
		return "Mexico"
	case "BR":
		return "Brazil"
	case "CL":
		return "Chile"
	case "DE":
		return "Germany"
	case "NL":
		return "Netherlands"
	case "GB":
		return "United Kingdom"
	case "FR":
		return "France"
	case "ES":
		return "Spain"
	case "SE":
		return "Sweden"
	case "PL":
		return "Poland"
	case "IT":
		return "Italy"
	case "SG":
		return "Singapore"
	case "JP":
		return "Japan"
	case "KR":
		return "South Korea"
	case "IN":
		return "India"
	case "HK":
		return "Hong Kong"
	case "AU":
		return "Australia"
	case "ZA":
		return "South Africa"
	}
	return ""
}

func northAmerica() []Region {
	return []Region{
		place("na-east-ewr", "Newark", "US", 40.7357, -74.1724,
			"us-east-1", "us-east4", "eastus", "eastus2", "canadaeast"),
		place("na-central-ord", "Chicago", "US", 41.8781, -87.6298,
			"us-east-2", "us-central1", "us-east5", "centralus", "northcentralus"),
		place("na-south-dfw", "Dallas", "US", 32.7767, -96.797,
			"us-south1", "southcentralus", "westcentralus"),
		place("na-northwest-sea", "Seattle", "US", 47.6062, -122.3321,
			"us-west-2", "ca-west-1", "us-west1", "westus2"),
		place("na-southwest-lax", "Los Angeles", "US", 34.0522, -118.2437,
			"us-west2", "us-west3", "us-west4", "westus3"),
		place("na-southeast-atl", "Atlanta", "US", 33.749, -84.388,
			"us-east1"),
		place("na-southeast-mia", "Miami", "US", 25.7617, -80.1918),
		place("na-west-sjc", "San Jose", "US", 37.3382, -121.8863,
			"us-west-1", "westus"),
		place("na-northeast-yyz", "Toronto", "CA", 43.6532, -79.3832,
			"ca-central-1", "northamerica-northeast1", "northamerica-northeast2", "canadacentral"),
		place("na-south-mex", "Mexico City", "MX", 19.4326, -99.1332,
			"mx-central-1", "northamerica-south1", "mexicocentral"),
		place("na-west-hnl", "Honolulu", "US", 21.3069, -157.8583),
	}
}

func southAmerica() []Region {
	return []Region{
		place("sa-east-sao", "São Paulo", "BR", -23.5505, -46.6333,
			"sa-east-1", "southamerica-east1", "brazilsouth", "brazilsoutheast"),
		place("sa-west-scl", "Santiago", "CL", -33.4489, -70.6693,
			"southamerica-west1", "chilecentral"),
	}
}

func europe() []Region {
	return []Region{
		place("eu-central-fra", "Frankfurt", "DE", 50.1109, 8.6821,
			"eu-central-1", "europe-west3", "europe-west10", "germanywestcentral", "germanynorth"),
		place("eu-west-ams", "Amsterdam", "NL", 52.3676, 4.9041,
			"europe-west4", "westeurope", "belgiumcentral"),
		place("eu-west-lhr", "London", "GB", 51.5074, -0.1278,
			"eu-west-2", "europe-west2", "uksouth", "ukwest"),
		place("eu-west-cdg", "Paris", "FR", 48.8566, 2.3522,
			"eu-west-3", "europe-west1", "europe-west9", "francecentral"),
		place("eu-northwest-man", "Manchester", "GB", 53.4808, -2.2426,
			"eu-west-1", "northeurope"),
		place("eu-southwest-mad", "Madrid", "ES", 40.4168, -3.7038,
			"eu-south-2", "europe-southwest1", "spaincentral"),
		place("eu-north-arn", "Stockholm", "SE", 59.3293, 18.0686,
			"eu-north-1", "europe-north1", "europe-north2",
			"norwayeast", "norwaywest", "swedencentral", "denmarkeast"),
		place("eu-east-waw", "Warsaw", "PL", 52.2297, 21.0122,
			"il-central-1", "europe-central2", "me-west1", "polandcentral", "austriaeast", "israelcentral"),
		place("eu-south-mxp", "Milan", "IT", 45.4642, 9.19,
			"eu-central-2", "eu-south-1", "europe-west6", "europe-west8", "europe-west12",
			"francesouth", "switzerlandnorth", "switzerlandwest", "italynorth"),
	}
}

func asiaPacific() []Region {
	return []Region{
		place("ap-southeast-sin", "Singapore", "SG", 1.3521, 103.8198,
			"ap-southeast-1", "ap-southeast-3", "ap-southeast-5", "ap-southeast-7",
			"asia-southeast1", "asia-southeast2", "asia-southeast3",
			"southeastasia", "indonesiacentral", "malaysiawest"),
		place("ap-northeast-nrt", "Tokyo", "JP", 35.6762, 139.6503,
			"ap-northeast-1", "asia-northeast1", "japaneast"),
		place("ap-northeast-kix", "Osaka", "JP", 34.6937, 135.5023,
			"ap-northeast-3", "asia-northeast2", "japanwest"),
		place("ap-northeast-icn", "Seoul", "KR", 37.5665, 126.978,
			"ap-northeast-2", "asia-northeast3", "koreacentral", "koreasouth"),
		place("ap-south-bom", "Mumbai", "IN", 19.076, 72.8777,
			"me-central-1", "me-south-1", "ap-south-1", "asia-south1", "me-central1", "me-central2",
			"qatarcentral", "uaenorth", "uaecentral", "centralindia", "westindia", "jioindiacentral", "jioindiawest"),
		place("ap-south-del", "Delhi", "IN", 28.6139, 77.209,
			"asia-south2"),
		place("ap-south-blr", "Bengaluru", "IN", 12.9716, 77.5946,
			"ap-south-2", "southindia"),
		place("ap-east-hkg", "Hong Kong", "HK", 22.3193, 114.1694,
			"ap-east-1", "ap-east-2", "asia-east1", "asia-east2", "eastasia"),
	}
}

func australia() []Region {
	return []Region{
		place("au-southeast-syd", "Sydney", "AU", -33.8688, 151.2093,
			"ap-southeast-2", "ap-southeast-6", "australia-southeast1",
			"newzealandnorth", "australiaeast", "australiacentral", "australiacentral2"),
		place("au-south-mel", "Melbourne", "AU", -37.8136, 144.9631,
			"ap-southeast-4", "australia-southeast2", "australiasoutheast"),
	}
}

func africa() []Region {
	return []Region{
		place("af-south-jnb", "Johannesburg", "ZA", -26.2041, 28.0473,
			"af-south-1", "africa-south1", "southafricanorth", "southafricawest"),
	}
}
