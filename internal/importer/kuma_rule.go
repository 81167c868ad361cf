// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/project"
)

// addRules makes a rule for each notification of a monitor.
func (k *kumaImport) addRules(c *Resource, m kumaRow) {
	given := max(m.whole("maxretries", 0), 0)
	if m.line("type") == kumaPushed {
		given = 0 // they are in the grace
	}
	threshold := min(given+1, vigil.MaxFailureThreshold)
	if threshold != given+1 && len(m.ids(kumaNotifications)) > 0 {
		c.Lose(fmt.Sprintf("maxretries: %d", given), "an incident opens after %d failures at most", vigil.MaxFailureThreshold)
	}
	k.eachChannel(c, m, func(channel *kumaChannel) {
		rule := c.AddRule("down-" + channel.resource.Key)
		rule.Set("name", Name("Down: "+channel.name, "Down"))
		rule.Set("condition", Object{{"failure_threshold", threshold}})
		rule.Set("notify_on", string(channel.notifyOn))
		rule.Set("channels", []string{channel.resource.Key})
	})
}

// eachChannel calls a function with the channel of each notification of a monitor.
func (k *kumaImport) eachChannel(c *Resource, m kumaRow, do func(*kumaChannel)) {
	for _, id := range m.ids(kumaNotifications) {
		channel := k.channels[id]
		switch {
		case channel == nil:
			name := cmp.Or(k.data.unknown[id], "notification "+strconv.FormatInt(id, 10))
			k.LoseSetting(name, "monitors name it, and it is not there to be read; no rule for it is made")
			c.miss(name)
		case channel.resource == nil:
			c.miss(channel.name)
		default:
			do(channel)
		}
	}
}

// warnsOfCertificate reports whether Kuma warns of the end of the certificate of an HTTP target.
func warnsOfCertificate(m kumaRow) bool {
	remote := m.line("type") == "globalping" && m.line("subtype") == "http"
	return m.flag("expiry_notification", false) && (isHTTPMonitor(m.line("type")) || remote)
}

// kumaExpiryDays is how many days before the end of a certificate Kuma warns first.
const kumaExpiryDays = 21

// addCertificate adds a check of the certificate to an HTTPS check.
func (k *kumaImport) addCertificate(c *Resource, m kumaRow) {
	if !k.options.Switches[kumaCertificates] || c.Members.Get("type") != string(vigil.TypeHTTPS) {
		return
	}
	address, _, reason := kumaURL(m.line("url"))
	if reason != "" {
		return
	}
	days, repeats := k.expiryDays("tlsExpiryNotifyDays")
	companion := k.Add(project.KindCheck, c.Origin, c.Key+" certificate")
	companion.Set("name", Name(cut(m.line("name"), maxName-len(" certificate"))+" certificate", companion.Key))
	companion.Set("type", string(vigil.TypeSSL))
	if c.Members.Get("enabled") == false {
		companion.Set("enabled", false)
	}
	const hourly = "1h"
	companion.Set("interval", hourly)
	if labels, ok := c.Members.Get("labels").(Object); ok {
		companion.Set("labels", labels)
	}
	config := Object{{"host", address.Hostname()}}
	if port := address.Port(); port != "" {
		number, _ := strconv.Atoi(port) // kumaURL has looked at it
		config.Set("port", number)
	}
	companion.Set("config", config)
	if repeats != "" {
		companion.Lose("expiry_notification: "+repeats+" days", "one incident opens %d days before the end, and no other", days)
	}
	if m.flag("ignore_tls", false) {
		companion.Lose("ignore_tls", "the check shows a certificate that is not valid as unhealthy; its rules look at the days only")
	}
	k.eachChannel(companion, m, func(channel *kumaChannel) {
		rule := companion.AddRule("expires-" + channel.resource.Key)
		rule.Set("name", Name("Certificate expires: "+channel.name, "Certificate expires"))
		rule.Set("condition", Object{{"ssl_days_remaining", days}, {"severity", string(vigil.Warning)}})
		rule.Set("notify_on", string(channel.notifyOn))
		rule.Set("channels", []string{channel.resource.Key})
	})
}

// kumaStandardRepeats are the other days of Kuma's own setting.
const kumaStandardRepeats = "7, 14"

// expiryDays returns the first of the days of a setting on which Kuma warns, and the others as a text.
func (k *kumaImport) expiryDays(setting string) (first int64, others string) {
	all := []int64{}
	for _, item := range (kumaRow{"": k.data.settings[setting]}).list("") {
		if days := (kumaRow{"": item}).whole("", -1); days >= 0 && days <= vigil.MaxSSLDays {
			all = append(all, days)
		}
	}
	if len(all) == 0 {
		all = []int64{7, 14, kumaExpiryDays}
	}
	for _, days := range all {
		first = max(first, days)
	}
	for _, days := range all {
		if days != first {
			others += cmp.Or(map[bool]string{true: ", "}[others != ""], "") + strconv.FormatInt(days, 10)
		}
	}
	return first, others
}
