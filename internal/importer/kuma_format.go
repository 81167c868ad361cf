// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"net/url"
	"strings"

	"github.com/vigil-monitor/vigil"
)

// kumaFormats are the types of notifications that become channels with a format.
func kumaFormats() map[string]kumaNotifier {
	return map[string]kumaNotifier{
		"telegram": {vigil.ChannelChat, kumaTelegram, []string{"telegram"}, nil},
		"teams":    {vigil.ChannelChat, hookOf("teams", "webhookUrl"), []string{"teams"}, nil},
		"GoogleChat": {
			vigil.ChannelChat, hookOf("google_chat", "googleChatWebhookURL"), []string{"googleChat"}, []string{"googleChatMaxRetries"},
		},
		"matrix":   {vigil.ChannelChat, kumaMatrix, []string{"matrix", "homeserverUrl", "internalRoomId", "accessToken"}, nil},
		"gotify":   {vigil.ChannelPush, kumaGotify, []string{"gotify"}, nil},
		"pushover": {vigil.ChannelPush, kumaPushover, []string{"pushover"}, nil},
		"Opsgenie": {vigil.ChannelPager, kumaOpsgenie, []string{"opsgenie"}, nil},
		"Splunk":   {vigil.ChannelPager, kumaSplunk, []string{"splunk"}, nil},
		"twilio":   {vigil.ChannelWebhook, kumaTwilio, []string{"twilio"}, nil},
		"Elks":     {vigil.ChannelWebhook, kumaElks, []string{"elks"}, nil},
	}
}

// hookOf is for products with an incoming webhook of their own form.
func hookOf(format, member string) func(*channelImport) string {
	return func(n *channelImport) string {
		n.config.Set("format", format)
		return chatOf(member, "")(n)
	}
}

// require sets a member of the config of a member of the notification that must not be empty.
func (n *channelImport) require(member, name string) (reason string) {
	text := n.use(member)
	if text == "" {
		return member + " is empty"
	}
	n.config.Set(name, Literal(text))
	return ""
}

// server sets the member server of the config.
func (n *channelImport) server(member string) (reason string) {
	address, reason := n.address(member, "")
	if reason == "" && strings.ContainsAny(address, "?#") {
		reason = member + " has a query"
	}
	n.config.Set("server", Literal(address))
	return reason
}

// firstOf returns the first reason that there is.
func firstOf(reasons ...string) string {
	for _, reason := range reasons {
		if reason != "" {
			return reason
		}
	}
	return ""
}

func kumaTelegram(n *channelImport) string {
	n.config.Set("format", "telegram")
	if reason := firstOf(n.require("telegramBotToken", "token"), n.require("telegramChatID", "chat_id")); reason != "" {
		return reason
	}
	if !isBotToken(n.given.line("telegramBotToken")) {
		return "telegramBotToken is not a number, a colon and the rest of a token"
	}
	if n.given.line("telegramMessageThreadID") != "" {
		n.config.Set("thread_id", n.use("telegramMessageThreadID"))
	}
	const standard = "https://api.telegram.org"
	if given := n.use("telegramServerUrl"); given != "" && strings.TrimSuffix(given, "/") != standard {
		return n.server("telegramServerUrl")
	}
	return ""
}

// isBotToken reports whether a text is a number, a colon and more, as a token of Telegram is.
func isBotToken(text string) bool {
	id, rest, _ := strings.Cut(text, ":")
	return id != "" && rest != "" && strings.Trim(id, "0123456789") == ""
}

func kumaMatrix(n *channelImport) string {
	n.config.Set("format", "matrix")
	if reason := firstOf(n.server("homeserverUrl"), n.require("accessToken", "token"), n.require("internalRoomId", "room_id")); reason != "" {
		return reason
	}
	if !strings.HasPrefix(n.given.line("internalRoomId"), "!") {
		return "internalRoomId is not the ID of a room, which begins with !"
	}
	return ""
}

func kumaGotify(n *channelImport) string {
	n.config.Set("format", "gotify")
	if reason := firstOf(n.server("gotifyserverurl"), n.require("gotifyapplicationToken", "token")); reason != "" {
		return reason
	}
	n.loseGiven("gotifyPriority", "the priority follows the severity of the incident")
	return ""
}

func kumaPushover(n *channelImport) string {
	n.config.Set("format", "pushover")
	if reason := firstOf(n.require("pushoverapptoken", "token"), n.require("pushoveruserkey", "user_key")); reason != "" {
		return reason
	}
	if n.given.line("pushoverdevice") != "" {
		n.config.Set("device", Literal(n.use("pushoverdevice")))
	}
	n.loseGiven("pushoverpriority", "the priority follows the severity of the incident")
	return ""
}

func kumaOpsgenie(n *channelImport) string {
	n.config.Set("format", "opsgenie")
	if n.use("opsgenieRegion") == "eu" {
		n.config.Set("url", "https://api.eu.opsgenie.com")
	}
	n.loseGiven("opsgeniePriority", "the priority follows the severity of the incident")
	return n.require("opsgenieApiKey", "api_key")
}

// kumaSplunk takes the two keys from the end of the address of the REST endpoint.
func kumaSplunk(n *channelImport) string {
	n.config.Set("format", "splunk_oncall")
	address, reason := n.address("splunkRestURL", "")
	if reason != "" {
		return reason
	}
	u, err := url.Parse(address)
	if err != nil {
		return "splunkRestURL is no address"
	}
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	if len(parts) < 3 {
		return "splunkRestURL does not end with the key of the integration and the routing key"
	}
	base := parts[:len(parts)-2]
	n.config.Set("api_key", Literal(parts[len(parts)-2]))
	n.config.Set("routing_key", Literal(parts[len(parts)-1]))
	if u.Host != "alert.victorops.com" {
		n.config.Set("url", Literal(u.Scheme+"://"+u.Host+"/"+strings.Join(base, "/")))
	}
	if n.use("splunkAutoResolve") == "0" {
		n.channel.notifyOn = vigil.NotifyUnhealthy
	}
	n.loseGiven("splunkSeverity", "the severity is that of the incident; write severity in the condition of a rule")
	return ""
}
