// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Readiness is what the server's /ready says. An empty member is not judged.
type Readiness struct {
	Database, Migrations, Temporal, Probing, PrivateTargets string
	// Regions is how many regions are online, such as "33 of 33 online".
	Regions string
}

// fine is what /ready says of a part that works.
const fine = "ok"

// Judge returns what does not work; one finding when everything does.
func (r Readiness) Judge() []Finding {
	var found []Finding
	add := func(part string, state State, message string, remedies ...string) {
		found = append(found, Finding{Part: part, State: state, Message: message, Remedies: remedies})
	}
	if r.Database != fine && r.Database != "" {
		add("database", Fail, "the server's database is "+r.Database, "vigil doctor   # on the server's machine")
	}
	if r.Migrations != fine && r.Migrations != "" && r.Database == fine {
		add("migrations", Fail, "migrations of the server's database: "+r.Migrations, "vigil migrate   # on the server's machine")
	}
	if r.Temporal != fine && r.Temporal != "" {
		add("temporal", Fail, "the server's Temporal is "+r.Temporal+": nothing is checked until it is back",
			"vigil doctor   # on the server's machine")
	}
	if strings.HasPrefix(r.Regions, "0 ") {
		add("workers", Fail, "no worker runs: "+r.Regions, "vigil worker --region all --control")
	}
	if r.Probing != fine && r.Probing != "" {
		add("load", Warn, r.Probing, "vigil check list --sort health", "vigil worker --region REGION   # on another machine")
	}
	switch r.PrivateTargets {
	case "", "open", "refused":
	default:
		add("private", Warn, "private addresses cannot be checked: "+r.PrivateTargets,
			"VIGIL_PUBLIC_URL=https://vigil.example.com VIGIL_ALLOWED_PRIVATE_CIDRS=10.0.0.0/8 vigil up")
	}
	if len(found) == 0 {
		add("platform", OK, "database, migrations, Temporal and workers are fine, probing keeps up")
	}
	return found
}

// Regions is which regions run, and which are used.
type Regions struct {
	All     int
	Offline []string         // that no worker serves
	Uses    map[string]int64 // enabled checks by offline region
	// ClockDifferences are the seconds by which clocks of workers are ahead, by region; a
	// small one is left out.
	ClockDifferences map[string]float64
	// Unpingable are the regions where checks of type ping run and cannot.
	Unpingable []string
	// Blind are the regions where a worker has no line to the internet.
	Blind []string
	// Instance: the server is a `vigil up`, which has the workers in itself.
	Instance bool
}

// fewNames is how many names a message lists.
const fewNames = 5

// Judge returns the findings about them.
func (r Regions) Judge() []Finding {
	var found []Finding
	for _, region := range slices.Sorted(slices.Values(r.Offline)) {
		if n := r.Uses[region]; n > 0 {
			use := "checks use"
			if n == 1 {
				use = "check uses"
			}
			worker := "vigil worker --region " + region
			if r.Instance {
				worker = "vigil up --regions all"
			}
			found = append(found, Finding{
				Part: "regions", State: Fail, Message: fmt.Sprintf("%d %s %s, which no worker serves", n, use, region),
				Remedies: []string{worker, "vigil check list --region " + region},
			})
		}
	}
	for region, seconds := range r.ClockDifferences {
		found = append(found, Finding{
			Part: "regions", State: Warn, Remedies: []string{"sudo timedatectl set-ntp true   # on the worker's machine"},
			Message: fmt.Sprintf("the clock of a worker of %s differs by %+.1f s from the database's; by 30 s it stops probing", region, seconds),
		})
	}
	if len(r.Unpingable) > 0 {
		found = append(found, Finding{
			Part: "regions", State: Warn,
			Message:  "checks of type ping cannot run in " + some(r.Unpingable) + ": the workers' machines forbid ICMP",
			Remedies: []string{pingRemedy + "   # on the worker's machine"},
		})
	}
	if len(r.Blind) > 0 {
		found = append(found, Finding{
			Part: "regions", State: Warn,
			Message:  "a worker has lost its line in " + some(r.Blind) + ": no canary answers, and failures of public targets are missed slots",
			Remedies: []string{"nc -zv -w 1 1.1.1.1 53   # on the worker's machine; its canaries are in VIGIL_CANARIES"},
		})
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return strings.Compare(a.Message, b.Message) })
	if len(found) > 0 {
		return found
	}
	f := Finding{Part: "regions", State: OK, Message: fmt.Sprintf("%d of %d online", r.All-len(r.Offline), r.All)}
	if len(r.Offline) > 0 {
		f.Message += "; no check uses the others"
	}
	return []Finding{f}
}

// some writes the first names of a list.
func some(names []string) string {
	names = slices.Sorted(slices.Values(names))
	if len(names) <= fewNames {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:fewNames], ", "), len(names)-fewNames)
}

// Exhausted are the deliveries to one channel whose every attempt failed.
type Exhausted struct {
	Channel string
	Count   int64
	More    bool      // there are more than were counted
	Since   time.Time // the oldest of them
	Reason  string    // of the last attempt of the newest; "": not known
	Works   bool      // a later message was delivered
}

// Deliveries judges the exhausted deliveries of the last days.
func Deliveries(all []Exhausted, now time.Time) []Finding {
	if len(all) == 0 {
		return []Finding{{Part: "deliveries", State: OK, Message: "none was given up in the last 7 days"}}
	}
	var found []Finding
	for _, e := range all {
		n := count(e.Count, "message")
		if e.More {
			n = fmt.Sprintf("more than %d messages", e.Count)
		}
		message := fmt.Sprintf("%s to the channel %q given up in the last %s", n, e.Channel, short(now.Sub(e.Since)))
		if e.Reason != "" {
			message += " (" + e.Reason + ")"
		}
		list := "vigil delivery list --channel " + quote(e.Channel) + " --status exhausted"
		one := Finding{Part: "deliveries", State: Warn, Message: message, Remedies: []string{list, "vigil channel test " + quote(e.Channel)}}
		if e.Works {
			one.State, one.Message, one.Remedies = OK, message+"; it works again", []string{list}
		}
		found = append(found, one)
	}
	return found
}

// Channel is a notification channel that the platform disabled.
type Channel struct{ Name, Reason string }

// Channels judges the channels that the platform disabled, of all that there are.
func Channels(disabled []Channel, all int64) []Finding {
	if len(disabled) == 0 {
		return []Finding{{Part: "channels", State: OK, Message: count(all, "channel") + ", none disabled by the platform"}}
	}
	var found []Finding
	for _, c := range disabled {
		found = append(found, Finding{
			Part: "channels", State: Warn, Message: fmt.Sprintf("the channel %q was disabled: %s", c.Name, c.Reason),
			Remedies: []string{"vigil channel test " + quote(c.Name), "vigil channel enable " + quote(c.Name)},
		})
	}
	return found
}

// Budget is what the organization uses of the executions an hour that its tier allows.
type Budget struct {
	Used, Limit int64 // Limit 0: none
}

// budgetWarning is the share of the budget from which there is a warning, in percent.
const budgetWarning = 90

// Judge returns the finding about it.
func (b Budget) Judge() Finding {
	f := Finding{Part: "budget", State: OK, Message: fmt.Sprintf("%d executions an hour, no limit", b.Used)}
	if b.Limit == 0 {
		return f
	}
	f.Message = fmt.Sprintf("%d of %d executions an hour", b.Used, b.Limit)
	if b.Used*100 >= b.Limit*budgetWarning {
		f.State = Warn
		f.Remedies = []string{"vigil usage", "vigil check list --sort created_at"}
	}
	return f
}
