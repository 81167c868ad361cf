// SPDX-License-Identifier: Apache-2.0

package web

import "strings"

// browserOf names the browser and the system of a User-Agent, for the list of sessions.
// Most browsers name others as well, so the order counts.
func browserOf(agent string) string {
	name := first(agent, [][2]string{
		{"Edg/", "Edge"}, {"OPR/", "Opera"}, {"Firefox/", "Firefox"}, {"Chrome/", "Chrome"}, {"Safari/", "Safari"}, {"curl/", "curl"},
	})
	system := first(agent, [][2]string{
		{"Android", "Android"}, {"iPhone", "iPhone"}, {"iPad", "iPad"}, {"Windows", "Windows"}, {"Mac OS X", "macOS"}, {"Linux", "Linux"},
	})
	switch {
	case name == "" && system == "":
		return "Unknown browser"
	case name == "" || system == "":
		return name + system
	}
	return name + " on " + system
}

// first returns the name of the first part that a text has.
func first(text string, parts [][2]string) string {
	for _, part := range parts {
		if strings.Contains(text, part[0]) {
			return part[1]
		}
	}
	return ""
}
