// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"strings"
	"time"
)

// The keys of the definitions.
const (
	Project = "demo"

	keyShop     = "shop"
	keyReceiver = "receiver"
)

const (
	// Interval is how often the shop is checked, unless the platform's smallest interval is longer.
	Interval = 2 * time.Second
	// failuresInARow is the threshold of the rule.
	failuresInARow = 2
	shopName       = "Demo shop"
)

// Regions are those that the shop is checked from, when the platform has them.
func Regions() []string { return []string{"na-east-ewr", "eu-central-fra", "ap-southeast-sin"} }

// application is the body of POST /v1/apply.
type application struct {
	Project  string   `json:"project"`
	Document document `json:"document"`
	Missing  string   `json:"missing"`
}

// document has the form of a file of definitions.
type document struct {
	Version  int                          `json:"version"`
	Channels map[string]channelDefinition `json:"channels"`
	Checks   map[string]checkDefinition   `json:"checks"`
}

type channelDefinition struct {
	Name   string         `json:"name"`
	Type   string         `json:"type"`
	Config map[string]any `json:"config"`
}

type checkDefinition struct {
	Name     string                    `json:"name"`
	Type     string                    `json:"type"`
	Enabled  bool                      `json:"enabled"`
	Interval string                    `json:"interval"`
	Regions  []string                  `json:"regions"`
	Config   map[string]any            `json:"config"`
	Rules    map[string]ruleDefinition `json:"rules"`
}

type ruleDefinition struct {
	Name         string         `json:"name"`
	Condition    map[string]any `json:"condition"`
	RegionPolicy string         `json:"region_policy"`
	NotifyOn     string         `json:"notify_on"`
	Channels     []string       `json:"channels"`
}

// definitions are what the demo applies: the shop is checked and the receiver notified.
// What another version of the demo applied is deleted.
func (d *Demo) definitions(s state) application {
	return application{Project: Project, Missing: "delete", Document: document{
		Version: 1,
		Channels: map[string]channelDefinition{keyReceiver: {
			Name: "Demo receiver", Type: "webhook",
			Config: map[string]any{"url": "http://" + s.Receiver + "/hook", "secret": s.Secret},
		}},
		Checks: map[string]checkDefinition{keyShop: {
			Name: shopName, Type: "http", Enabled: true, Interval: seconds(d.interval), Regions: d.regions,
			Config: map[string]any{"url": "http://" + s.Shop + "/"},
			Rules: map[string]ruleDefinition{"down": {
				Name: "Shop is down", Condition: map[string]any{"failure_threshold": failuresInARow, "severity": "critical"},
				RegionPolicy: "majority", NotifyOn: "both", Channels: []string{keyReceiver},
			}},
		}},
	}}
}

// seconds words a duration as 2s.
func seconds(d time.Duration) string { return fmt.Sprintf("%ds", int64(d/time.Second)) }

// count words a number of things: "one incident", "3 attempts".
func count(n int, what string) string {
	words := []string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"}
	number := fmt.Sprint(n)
	if n >= 0 && n < len(words) {
		number = words[n]
	}
	switch {
	case n == 1:
		return number + " " + what
	case strings.HasSuffix(what, "y"):
		return number + " " + strings.TrimSuffix(what, "y") + "ies"
	}
	return number + " " + what + "s"
}
