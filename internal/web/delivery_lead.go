// SPDX-License-Identifier: Apache-2.0

package web

import "github.com/vigil-monitor/vigil/client"

// betweenLead is deliveryLead for a message that is neither the first nor the last one of its incident.
func betweenLead(d *client.Delivery, i *client.Incident, attempts []client.Attempt) []leadPart {
	return []leadPart{
		{Text: "The message that "},
		{Text: "this incident", Href: "/app/incidents/" + d.IncidentId.String()},
		{Text: " was " + eventWord(string(d.EventType)) + ", to " + withArticle(d.ChannelType) + ". " + deliveryEnd(d, i, attempts)},
	}
}

// systemLead is deliveryLead for a message about a part of the platform or a change of a check.
func systemLead(d *client.Delivery, attempts []client.Attempt) []leadPart {
	about := leadPart{Text: aboutOf(d)}
	if d.CheckId != nil {
		about.Href = aboutHref(d)
	}
	return []leadPart{
		{Text: "The message “"}, about, {Text: "”, to " + withArticle(d.ChannelType) + ". " + deliveryEnd(d, nil, attempts)},
	}
}
