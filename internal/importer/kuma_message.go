// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"net/url"
	"strings"

	"github.com/vigil-monitor/vigil"
)

// kumaMessages are the types of notifications of products that take a short message in JSON, and answer
// what they refuse with a status of an error: they become webhooks with a template. Products that answer 200
// to everything are left out, since nothing would show what did not arrive.
func kumaMessages() map[string]kumaNotifier {
	return map[string]kumaNotifier{
		"signal": {vigil.ChannelWebhook, kumaSignal, []string{"signal"}, nil},
		"line":   {vigil.ChannelWebhook, kumaLine, []string{"line"}, nil},
		"pumble": {
			vigil.ChannelWebhook, func(n *channelImport) string {
				address, reason := n.address("webhookURL", "")
				return firstOf(reason, n.posts(address, nil, object("text", messageText)))
			}, []string{"webhookURL"}, nil,
		},
		"pushbullet": {vigil.ChannelWebhook, kumaPushbullet, []string{"pushbullet"}, nil},
		"HomeAssistant": {
			vigil.ChannelWebhook, kumaHomeAssistant, []string{"homeAssistant", "longLived", "notificationService"}, nil,
		},
		"JiraServiceManagement": {vigil.ChannelWebhook, kumaJira, []string{"jsm"}, nil},
	}
}

// posts makes a webhook that posts a value as JSON.
func (n *channelImport) posts(address string, headers, body Object) (reason string) {
	n.config.Set("url", Literal(address))
	return setMessage(&n.config, headers, body)
}

func kumaSignal(n *channelImport) string {
	address, reason := n.address("signalURL", "")
	given, empty := n.filled("signalNumber", "signalRecipients")
	if reason = firstOf(reason, empty); reason != "" {
		return reason
	}
	return n.posts(address, nil, object("message", messageText, "number", given[0], "recipients", splitList(given[1])))
}

// splitList splits a list at its commas, without the spaces around them.
func splitList(text string) []any {
	var all []any
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, part)
		}
	}
	return all
}

func kumaLine(n *channelImport) string {
	given, reason := n.filled("lineChannelAccessToken", "lineUserID")
	if reason != "" {
		return reason
	}
	return n.posts(lineAddress, bearer(given[0]), lineMessage(given[1]))
}

func kumaPushbullet(n *channelImport) string {
	given, reason := n.filled("pushbulletAccessToken")
	if reason != "" {
		return reason
	}
	return n.posts("https://api.pushbullet.com/v2/pushes", Object{{"Access-Token", Literal(given[0])}},
		object("type", "note", "title", "{{incident_status}}: {{incident_title}}", "body", "{{error_message}}"))
}

func kumaHomeAssistant(n *channelImport) string {
	address, reason := n.address("homeAssistantUrl", "")
	given, empty := n.filled("longLivedAccessToken")
	if reason = firstOf(reason, empty); reason != "" {
		return reason
	}
	service := n.use("notificationService")
	if service == "" {
		service = "notify"
	}
	return n.posts(strings.TrimRight(address, "/")+"/api/services/notify/"+url.PathEscape(service), bearer(given[0]),
		object("title", "{{incident_status}}: {{incident_title}}", "message", "{{error_message}} "))
}

// kumaJira opens alerts as Kuma does, with the token of a person. Closing one takes two requests there; an
// integration has one for it.
func kumaJira(n *channelImport) string {
	given, reason := n.filled("jsmCloudId", "jsmEmail", "jsmApiToken")
	if reason != "" {
		return reason
	}
	n.channel.notifyOn = vigil.NotifyUnhealthy
	n.lose("jsmApiToken", "alerts are opened and not closed; a pager of the format jsm with the key of an integration does both")
	n.loseGiven("jsmPriority", "the product decides the priority")
	return n.posts("https://api.atlassian.com/jsm/ops/api/"+url.PathEscape(given[0])+"/v1/alerts",
		Object{{"Authorization", Literal(basicAuthorization(given[1], given[2]))}},
		object("message", "{{incident_title}}", "alias", "{{incident_id}}", "description", "{{error_message}}", "source", "Vigil"))
}
