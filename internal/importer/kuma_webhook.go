// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"maps"
	"net/textproto"
	"regexp"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil/internal/events"
)

func webhookChannel(n *channelImport) string {
	address, reason := n.address("webhookURL", "")
	if reason != "" {
		return reason
	}
	n.config.Set("url", Literal(address))
	if method := n.use("httpMethod"); strings.EqualFold(method, "get") {
		n.lose("httpMethod", "Vigil posts its messages")
	}
	n.webhookHeaders()
	n.webhookBody()
	return ""
}

func (n *channelImport) webhookHeaders() {
	text := n.use("webhookAdditionalHeaders")
	given := n.given.object("webhookAdditionalHeaders")
	if text != "" && given == nil {
		n.lose("webhookAdditionalHeaders", "they are not an object in JSON")
	}
	var headers Object
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value, key := given.text(name), strings.ToLower(name)
		own := key == "host" || strings.HasPrefix(key, "webhook-") || strings.HasPrefix(key, "x-service-")
		if own || seen[key] || !isHeaderName(name) || !isHeaderValue(value) || framingHeader(textproto.CanonicalMIMEHeaderKey(name)) ||
			len(headers) == 50 {
			n.channel.resource.Lose("header "+name, "a channel cannot send it")
			continue
		}
		seen[key] = true
		headers.Set(name, Literal(value))
	}
	if len(headers) > 0 {
		n.config.Set("headers", headers)
	}
}

// webhookBody carries a body of the user's own over.
func (n *channelImport) webhookBody() {
	const body = "webhookCustomBody"
	if n.use("webhookContentType") != "custom" {
		n.used[body] = true // what another choice left behind
		n.lose("webhookContentType", "the body is Vigil's own event in JSON: adapt the receiver")
		return
	}
	template, unknown := kumaTemplate(n.given.text(body))
	n.used[body] = true
	if unknown != "" {
		n.lose(body, "Vigil has no variable for %s; the body is Vigil's own event", oneLine(unknown))
		return
	}
	contentType, headers := "", n.config.Get("headers")
	if given, ok := headers.(Object); ok {
		for _, one := range given {
			if text, ok := one.Value.(string); ok && strings.EqualFold(one.Name, "Content-Type") {
				contentType = text
			}
		}
	}
	if reason := setBody(&n.config, Literal(template), template, contentType); reason != "" {
		n.lose(body, "%s; the body is Vigil's own event", reason)
		return
	}
	if strings.Contains(template, "{{incident_status}}") {
		n.lose(body+": status", "it becomes {{incident_status}}, which is active or resolved")
	}
}

// liquidOutput is an output of Liquid, with its filters, and liquidTag a tag.
var (
	liquidOutput = regexp.MustCompile(`\{\{-?\s*(.*?)\s*-?\}\}`)
	liquidTag    = regexp.MustCompile(`\{%.*?%\}`)
)

// kumaVariables are the values of Kuma's templates, and the variables that say the same.
func kumaVariables() map[string]string {
	return map[string]string{
		"msg": "incident_title", "name": "check_name", "NAME": "check_name", "status": "incident_status", "STATUS": "incident_status",
		"hostnameOrURL": "check_target", "HOSTNAME_OR_URL": "check_target",
		"monitorJSON.name": "check_name", "monitorJSON.url": "check_target", "monitorJSON.hostname": "check_target",
		"monitorJSON.type": "check_type", "monitorJSON.id": "check_id",
		"heartbeatJSON.msg": "error_message", "heartbeatJSON.ping": "response_time_ms", "heartbeatJSON.time": "started_at",
	}
}

// kumaTemplate writes a template of Liquid as one of Vigil. unknown is the first part that it has no
// variable for.
func kumaTemplate(text string) (template, unknown string) {
	if tag := liquidTag.FindString(text); tag != "" {
		return "", tag
	}
	known := kumaVariables()
	template = liquidOutput.ReplaceAllStringFunc(text, func(output string) string {
		name := liquidOutput.FindStringSubmatch(output)[1]
		// A member may be written as monitorJSON['name'] or monitorJSON["name"], too.
		name = strings.NewReplacer("['", ".", `["`, ".", "']", "", `"]`, "").Replace(name)
		if known[name] == "" && unknown == "" {
			unknown = output
		}
		return "{{" + known[name] + "}}"
	})
	if rest := placeholder.ReplaceAllLiteralString(template, ""); unknown == "" && strings.Contains(rest, events.TemplateOpen) {
		unknown = events.TemplateOpen
	}
	return template, unknown
}

// filled reads members that must not be empty.
func (n *channelImport) filled(names ...string) (values []string, reason string) {
	for _, name := range names {
		value := n.use(name)
		if value == "" {
			return nil, name + " is empty"
		}
		values = append(values, value)
	}
	return values, ""
}

func kumaTwilio(n *channelImport) string {
	given, reason := n.filled("twilioAccountSID", "twilioAuthToken", "twilioFromNumber", "twilioToNumber")
	if reason != "" {
		return reason
	}
	user := given[0]
	if key := n.use("twilioApiKey"); key != "" {
		user = key
	}
	n.config.Set("url", Literal(twilioAddress(given[0])))
	setForm(&n.config, Literal(basicAuthorization(user, given[1])), [][2]string{{"From", given[2]}, {"To", given[3]}}, "Body")
	return ""
}

func kumaElks(n *channelImport) string {
	given, reason := n.filled("elksUsername", "elksAuthToken", "elksFromNumber", "elksToNumber")
	if reason != "" {
		return reason
	}
	n.config.Set("url", "https://api.46elks.com/a1/sms")
	setForm(&n.config, Literal(basicAuthorization(given[0], given[1])), [][2]string{{"from", given[2]}, {"to", given[3]}}, "message")
	return ""
}
