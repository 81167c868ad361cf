// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"strings"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/events"
)

// alertState is what Gatus replaces by TRIGGERED or RESOLVED.
const alertState = "[ALERT_TRIGGERED_OR_RESOLVED]"

// gatusPlaceholders are what Gatus replaces in a body, and the variables that say the same.
func gatusPlaceholders() *strings.Replacer {
	return strings.NewReplacer(
		"[ALERT_DESCRIPTION]", "{{rule_name}}", "[ENDPOINT_NAME]", "{{check_name}}", "[ENDPOINT_GROUP]", "{{label.group}}",
		"[ENDPOINT_URL]", "{{check_target}}", "[RESULT_ERRORS]", "{{error_message}}", alertState, "{{incident_status}}",
	)
}

// gatusReplaces begin the names of what Gatus replaces.
func gatusReplaces() []string { return []string{"[ENDPOINT_", "[ALERT_", "[RESULT_"} }

// custom is the config of a request of the user's own.
func (p *gatusProvider) custom(m *members) (vigil.ChannelType, Object, string) {
	address := m.marked("url")
	if address == "" {
		return "", nil, "it has no url"
	}
	config := Object{{"url", p.g.fileText(address)}}
	method, _ := m.scalar("method")
	switch method = strings.ToUpper(method); method {
	case "POST":
	case "PUT", "PATCH":
		config.Set("method", method)
	case "":
		m.lose("method", "Gatus sends GET without one, and Vigil sends POST")
	default:
		m.lose("method: "+method, "Vigil sends POST")
	}
	var headers Object
	contentType := ""
	for _, one := range m.texts("headers") {
		headers.Set(one.name, p.g.fileText(one.value.text))
		address += one.value.text
		if strings.EqualFold(one.name, "Content-Type") {
			contentType = one.value.text
		}
	}
	if len(headers) > 0 {
		config.Set("headers", headers)
	}
	for _, name := range gatusReplaces() {
		if strings.Contains(address, name) {
			m.lose("url and headers", "what Gatus replaces, such as %s...], is sent as it is written", name)
		}
	}
	p.customBody(m, &config, contentType)
	m.drop(noSetting, "client")
	return vigil.ChannelWebhook, config, ""
}

// customBody carries the body of a custom request over.
func (p *gatusProvider) customBody(m *members, config *Object, contentType string) {
	body := m.marked("body")
	if body == "" {
		m.dropTogether("there is no body for them", "placeholders")
		return
	}
	switch {
	case strings.Contains(body, events.TemplateOpen):
		m.lose("body", "it has {{, which begins a variable of Vigil; the webhook sends Vigil's own event")
		m.drop("the body is not carried over", "placeholders")
		return
	case marked(contentType):
		contentType = bodyJSON
	}
	template := gatusPlaceholders().Replace(body)
	if reason := setBody(config, p.g.fileText(template), template, contentType); reason != "" {
		m.lose("body", "%s; the webhook sends Vigil's own event", reason)
		m.drop("the body is not carried over", "placeholders")
		return
	}
	for _, name := range gatusReplaces() {
		if strings.Contains(template, name) {
			m.lose("body: "+name+"...]", "it is sent as it is written")
		}
	}
	if marked(body) {
		m.lose("body", "what comes from a variable is shown in answers of the API, since it is no secret member")
	}
	if strings.Contains(body, alertState) {
		m.lose("body: "+alertState, "it becomes {{incident_status}}, which is active or resolved")
	}
	m.drop("a variable has one text for each state", "placeholders")
}

// twilio is the config of a webhook that sends short messages.
func (p *gatusProvider) twilio(m *members) (vigil.ChannelType, Object, string) {
	var given [4]string
	for i, name := range []string{"sid", "token", "from", "to"} {
		switch given[i] = m.marked(name); {
		case given[i] == "":
			return "", nil, "it has no " + name
		case name != "token" && marked(given[i]):
			return "", nil, "its " + name + " comes from a variable, which cannot stand in an address or a form"
		}
	}
	config := Object{{"url", Literal(twilioAddress(given[0]))}}
	authorization := Literal(basicAuthorization(given[0], given[1]))
	if marked(given[1]) {
		const name = "TWILIO_AUTHORIZATION"
		authorization = p.g.Variable(name)
		m.lose("token: "+shown(given[1]), "set %s to Basic, a space, and the SID, a colon and the token in base64", name)
	}
	setForm(&config, authorization, [][2]string{{"From", given[2]}, {"To", given[3]}}, "Body")
	return vigil.ChannelWebhook, config, ""
}
