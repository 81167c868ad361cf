// SPDX-License-Identifier: Apache-2.0

package location

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// State says whether agents report from a location.
type State string

// States of a location.
const (
	Online State = "online" // an agent reports
	Silent State = "silent" // none has reported for 30 s
	Never  State = "never"  // no agent has connected yet
)

// Location is a place of an organization that agents probe from.
type Location struct {
	ID    uuid.UUID
	OrgID uuid.UUID
	Key   string // loc-<slug>; checks name it in their regions
	Name  string
	// Labels are nil for none.
	Labels      vigil.Labels
	TokenPrefix string // the first characters of the token, to recognize it
	Version     int64  // grows with every change
	CreatedAt   time.Time
	UpdatedAt   time.Time
	RotatedAt   time.Time // when the token was made

	State State
	// SilentSince is when the last agent reported; nil unless the location is silent.
	SilentSince *time.Time
	// Agents are those that report, the newest first; of a silent location the one that reported last.
	Agents []Agent
	Checks int64 // that name the location
}

// Agent is a running program that probes at a location.
type Agent struct {
	ID        uuid.UUID
	Name      string // of its machine
	Version   string // of its program
	StartedAt time.Time
	SeenAt    time.Time     // when it reported last
	Clock     time.Duration // by how much its clock is ahead of the platform's
	Spool     Spool
	Checks    int64 // that it probes
	Types     []vigil.CheckType
}

// Spool is what an agent has not been able to send.
type Spool struct{ Results, Bytes, Dropped int64 }

// maxSlug is how many characters a key may have after its prefix.
const maxSlug = 40

// keyForm is what a key looks like.
var keyForm = regexp.MustCompile(`^` + vigil.LocationPrefix + `[a-z0-9-]{1,40}$`)

// ValidKey reports whether a text can be the key of a location.
func ValidKey(key string) bool { return keyForm.MatchString(key) }

// CheckKey returns a CodeInvalid error for a text that cannot be the key of a location.
func CheckKey(member, key string) error {
	if ValidKey(key) {
		return nil
	}
	return vigil.Invalid(member, "must be %s and 1 to %d characters of a-z, 0-9 and -, such as loc-office", vigil.LocationPrefix, maxSlug)
}

// KeyOf returns the key that a name suggests: loc- and its lower-case ASCII words with hyphens
// between them. It is empty for a name without ASCII letters and digits.
func KeyOf(name string) string {
	var slug strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case slug.Len() >= maxSlug:
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			slug.WriteRune(r)
		case slug.Len() > 0 && !strings.HasSuffix(slug.String(), "-"):
			slug.WriteByte('-')
		}
	}
	if words := strings.Trim(slug.String(), "-"); words != "" {
		return vigil.LocationPrefix + words
	}
	return ""
}

// Another returns a key like one that is taken, which taken does not report.
func Another(key string, taken func(string) bool) string {
	for n := 2; ; n++ {
		end := fmt.Sprintf("-%d", n)
		other := strings.TrimRight(key[:min(len(key), len(vigil.LocationPrefix)+maxSlug-len(end))], "-") + end
		if !taken(other) {
			return other
		}
	}
}

// Names are the names of the locations of an organization, by key.
type Names map[string]string

// Of returns what people call a region: the name of a location, and of another region its own. A
// region that is not known is its key.
func (n Names) Of(region string) string {
	if name, ok := n[region]; ok {
		return name
	}
	if place, ok := vigil.RegionByKey(region); ok {
		return place.Name
	}
	return region
}

// regionsPath is where callers find the regions, and locationsPath the locations.
const (
	regionsPath   = "/v1/regions"
	locationsPath = "/v1/locations"
)

// UnknownRegion is the CodeInvalid error about a member that names no region. It lists what there is:
// the regions, and the locations of the organization (spec section 4, region validation).
func UnknownRegion(member string, names Names) error {
	keys := append(vigil.RegionKeys(), slices.Sorted(maps.Keys(names))...)
	err := vigil.Invalid(member, "is not a known region; the valid regions are %s (see %s and %s)",
		strings.Join(keys, ", "), regionsPath, locationsPath)
	err.Details["valid_regions"] = keys
	err.Details["see"] = regionsPath
	return err
}
