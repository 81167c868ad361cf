// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"strings"

	"github.com/vigil-monitor/vigil"
)

// Reasons for which members of providers are lost.
const (
	noSetting    = "Vigil has no such setting of a channel"
	ownTitle     = "a message of Vigil has its own title"
	bySeverity   = "Vigil chooses the priority by the severity"
	ownTags      = "an alert of Vigil has its own"
	matrixServer = "https://matrix-client.matrix.org" // Gatus's default
)

// hook is the config of a chat with an incoming webhook.
func (p *gatusProvider) hook(m *members) (vigil.ChannelType, Object, string) {
	url := p.g.fileText(m.marked("webhook-url"))
	if url == "" {
		return "", nil, "it has no webhook-url"
	}
	format := map[string]string{
		"discord": "discord", "mattermost": "mattermost", "rocketchat": "rocketchat", "googlechat": "google_chat", "teams": "teams",
		"teams-workflows": "teams",
	}[p.kind]
	var config Object
	if format != "" && !strings.HasSuffix(url, "/slack") {
		config.Set("format", format)
	}
	config.Set("webhook_url", url)
	m.drop(ownTitle, "title")
	m.drop("Vigil sends no text beside the message; a template of the channel may hold it", "message-content")
	m.drop("the webhook decides the channel", "channel")
	m.drop(noSetting, "client")
	return vigil.ChannelChat, config, ""
}

// required sets members of a config, and returns which one of the provider is missing.
func (p *gatusProvider) required(m *members, config *Object, names ...[2]string) (problem string) {
	for _, name := range names {
		text := p.g.fileText(m.marked(name[0]))
		if text == "" && problem == "" {
			problem = "it has no " + name[0]
		}
		config.Set(name[1], text)
	}
	return problem
}

func (p *gatusProvider) telegram(m *members) (vigil.ChannelType, Object, string) {
	token := m.marked("token")
	config := Object{{"format", "telegram"}}
	problem := p.required(m, &config, [2]string{"token", "token"}, [2]string{"id", "chat_id"})
	if problem == "" && !marked(token) && !isBotToken(token) {
		problem = "its token is none of a bot"
	}
	if topic := p.g.fileText(m.marked("topic-id")); topic != "" {
		config.Set("thread_id", topic)
	}
	if server := p.g.fileText(m.marked("api-url")); server != "" {
		config.Set("server", server)
	}
	m.drop(noSetting, "client")
	return vigil.ChannelChat, config, problem
}

func (p *gatusProvider) matrix(m *members) (vigil.ChannelType, Object, string) {
	config := Object{{"format", "matrix"}}
	problem := p.required(m, &config, [2]string{"access-token", "token"}, [2]string{"internal-room-id", "room_id"})
	server := p.g.fileText(m.marked("server-url"))
	if server == "" {
		server = matrixServer
	}
	config.Set("server", server)
	return vigil.ChannelChat, config, problem
}

func (p *gatusProvider) zulip(m *members) (vigil.ChannelType, Object, string) {
	config := Object{{"format", "zulip"}}
	problem := p.required(m, &config,
		[2]string{"bot-email", "email"}, [2]string{"bot-api-key", "token"}, [2]string{"channel-id", "stream"}, [2]string{"domain", "server"})
	config.Set("server", "https://"+p.g.fileText(m.marked("domain")))
	return vigil.ChannelChat, config, problem
}

func (p *gatusProvider) gotify(m *members) (vigil.ChannelType, Object, string) {
	config := Object{{"format", "gotify"}}
	problem := p.required(m, &config, [2]string{"server-url", "server"}, [2]string{"token", "token"})
	m.drop(bySeverity, "priority")
	m.drop(ownTitle, "title")
	return vigil.ChannelPush, config, problem
}

func (p *gatusProvider) pushover(m *members) (vigil.ChannelType, Object, string) {
	config := Object{{"format", "pushover"}}
	problem := p.required(m, &config, [2]string{"application-token", "token"}, [2]string{"user-key", "user_key"})
	if device := p.g.fileText(m.marked("device")); device != "" {
		config.Set("device", device)
	}
	m.drop(ownTitle, "title")
	m.dropTogether(bySeverity, "priority", "resolved-priority")
	m.dropTogether(noSetting, "sound", "ttl")
	return vigil.ChannelPush, config, problem
}

func (p *gatusProvider) opsgenie(m *members) (vigil.ChannelType, Object, string) {
	config := Object{{"format", p.kind}}
	problem := p.required(m, &config, [2]string{"api-key", "api_key"})
	m.drop(bySeverity, "priority")
	m.dropTogether(ownTags, "source", "entity-prefix", "alias-prefix", "tags")
	return vigil.ChannelPager, config, problem
}

func (p *gatusProvider) incidentIO(m *members) (vigil.ChannelType, Object, string) {
	config := Object{{"format", "incident_io"}}
	problem := p.required(m, &config, [2]string{"url", "url"}, [2]string{"auth-token", "api_key"})
	m.dropTogether(ownTags, "source-url", "metadata")
	return vigil.ChannelPager, config, problem
}

func (p *gatusProvider) alertmanager(m *members) (vigil.ChannelType, Object, string) {
	config := Object{{"format", "alertmanager"}}
	urls := m.list("urls")
	if len(urls) == 0 {
		return "", nil, "it has no urls"
	}
	config.Set("url", p.g.fileText(strings.TrimSuffix(strings.TrimSuffix(urls[0].text, "/"), "/api/v2/alerts")))
	for _, more := range urls[1:] {
		m.lose("urls: "+shown(more.text), "a channel has one address; make another one, or let the servers form a cluster")
	}
	m.drop("the severity is that of the incident; write severity in the condition of a rule", "default-severity")
	m.dropTogether(ownTags, "extra-labels", "extra-annotations")
	m.drop(noSetting, "client")
	return vigil.ChannelPager, config, ""
}

// plain reads the texts of a list that a body needs, or says which cannot stand there.
func (p *gatusProvider) plain(m *members, name string) (texts []any, problem string) {
	for _, one := range m.list(name) {
		if marked(one.text) {
			return nil, "its " + name + " come from a variable, which cannot stand in a body"
		}
		texts = append(texts, one.text)
	}
	if len(texts) == 0 {
		return nil, "it has no " + name
	}
	return texts, ""
}

func (p *gatusProvider) signal(m *members) (vigil.ChannelType, Object, string) {
	address, number := m.marked("api-url"), m.marked("number")
	to, problem := p.plain(m, "recipients")
	switch {
	case problem != "":
		return "", nil, problem
	case address == "" || number == "" || marked(number):
		return "", nil, "it has no api-url, or no number that is written out"
	}
	config := Object{{"url", p.g.fileText(strings.TrimSuffix(address, "/") + "/v2/send")}}
	problem = setMessage(&config, nil, object("message", messageText, "number", number, "recipients", to))
	return vigil.ChannelWebhook, config, problem
}

// line sends to the first of the people: a message has one.
func (p *gatusProvider) line(m *members) (vigil.ChannelType, Object, string) {
	token := m.marked("channel-access-token")
	to, problem := p.plain(m, "user-ids")
	if problem != "" || token == "" {
		return "", nil, firstOf(problem, "it has no channel-access-token")
	}
	for _, more := range to[1:] {
		m.lose("user-ids: "+more.(string), "a message has one receiver; make another channel")
	}
	config := Object{{"url", Literal(lineAddress)}}
	problem = setMessage(&config, Object{{"Authorization", "Bearer " + p.g.fileText(token)}}, lineMessage(to[0].(string)))
	return vigil.ChannelWebhook, config, problem
}
