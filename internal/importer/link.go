// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil/internal/project"
)

// unlink removes the references to a resource that is not in the files.
func (r *Result) unlink(gone *Resource) {
	switch gone.Kind {
	case project.KindChannel:
		for _, check := range r.Checks {
			check.unlinkChannel(gone)
		}
	case project.KindCheck:
		for _, window := range slices.Clone(r.Maintenance) {
			scope, _ := window.Members.Get("scope").(Object)
			checks, _ := scope.Get("checks").([]string)
			if !slices.Contains(checks, gone.Key) {
				continue
			}
			rest := slices.DeleteFunc(slices.Clone(checks), func(key string) bool { return key == gone.Key })
			if len(rest) == 0 {
				r.Remove(window, "its checks are not carried over")
				continue
			}
			scope.Set("checks", rest)
			window.Set("scope", scope)
			window.Lose("check "+gone.Key, "the check is not carried over")
		}
		for _, page := range r.StatusPages {
			unlinkPage(page, gone.Key)
		}
	default:
	}
}

// unlinkChannel takes a channel that is not in the files out of the rules of a check. The channel is
// reported itself, and so a rule that has no other one goes without a word.
func (c *Resource) unlinkChannel(gone *Resource) {
	c.Rules = slices.DeleteFunc(c.Rules, func(rule *Resource) bool {
		channels, _ := rule.Members.Get("channels").([]string)
		if !slices.Contains(channels, gone.Key) {
			return false
		}
		c.miss(strings.TrimPrefix(gone.Origin, "alerting.")) // which every provider of Gatus has
		rest := slices.DeleteFunc(slices.Clone(channels), func(key string) bool { return key == gone.Key })
		rule.Set("channels", rest)
		return len(rest) == 0
	})
}

// miss notes that alerts of a check go to a channel that is not carried over. The channel is reported
// once; only a check that has no other is reported, too.
func (c *Resource) miss(channel string) {
	if !slices.Contains(c.lostChannels, channel) {
		c.lostChannels = append(c.lostChannels, channel)
	}
}

// warnWithoutChannel reports the checks that lose all channels of their alerts.
func (r *Result) warnWithoutChannel() {
	for _, check := range r.Checks {
		if len(check.Rules) == 0 && len(check.lostChannels) > 0 {
			check.Lose("alerts to "+strings.Join(check.lostChannels, ", "),
				"the check notifies no channel, since that is not carried over; give it a rule with another one")
		}
	}
}

// notifyIfOpen makes each rule of a check with several notify also while an incident of another
// one is open, as each alert of the other monitors does by itself.
func (r *Result) notifyIfOpen() {
	for _, check := range r.Checks {
		if len(check.Rules) < 2 {
			continue
		}
		for _, rule := range check.Rules {
			rule.Set("notify_if_open", true)
		}
	}
}

// unlinkPage removes a check from the groups of a status page.
func unlinkPage(page *Resource, key string) {
	groups, _ := page.Members.Get("groups").([]any)
	for i := range groups {
		group, _ := groups[i].(Object)
		checks, _ := group.Get("checks").([]any)
		rest := slices.DeleteFunc(slices.Clone(checks), func(one any) bool {
			object, _ := one.(Object)
			return one == any(key) || object.Get("check") == any(key)
		})
		if len(rest) != len(checks) {
			group.Set("checks", rest)
			groups[i] = group
			page.Lose("check "+key, "the check is not carried over")
		}
	}
}
