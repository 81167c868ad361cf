package vigil

// Region is a place that checks are probed from (spec section 2, Region).
type Region struct {
	Key         string // <continent>-<compass position>-<airport code>
	Name        string // the place as people say it, such as Newark, USA
	City        string
	Country     string
	CountryCode string // ISO 3166-1 alpha-2
	Continent   string
	AirportCode string // IATA, upper case
	Latitude    float64
	Longitude   float64
	Primary     bool     // open to every tier
	Aliases     []string // cloud providers' names that mean this region
}

// DefaultRegionAlias is the region of a check that names none (spec section 2).
const DefaultRegionAlias = "us-east-1"
