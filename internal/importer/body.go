// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"encoding/base64"
	"encoding/json"
	"mime"
	"net/url"
	"regexp"
	"strings"

	"github.com/vigil-monitor/vigil/internal/events"
)

// Media types of bodies that a webhook makes from a template.
const (
	bodyJSON = "application/json"
	bodyForm = "application/x-www-form-urlencoded"
	bodyText = "text/plain"
)

// placeholder is a variable in a template of a body.
var placeholder = regexp.MustCompile(`\{\{[^{}]*\}\}`)

// setBody sets the members of a webhook that sends a body of its own. template is in the form of the
// files; plain is the same without their escapes, and given the Content-Type of its headers, or empty:
// then it is JSON where the template makes JSON, and text otherwise. The reason says why a webhook
// cannot send it; nothing is set then.
func setBody(config *Object, template, plain, given string) (reason string) {
	if len(plain) > events.MaxEnvelope {
		return "it is longer than 64 KiB"
	}
	media, _, err := mime.ParseMediaType(given)
	switch isJSON := makesJSON(plain); {
	case given == "" && isJSON:
	case given == "":
		config.Set("content_type", bodyText)
	case err != nil:
		return "its Content-Type is no media type"
	case media == bodyJSON || strings.HasSuffix(media, "+json"):
		if !isJSON {
			return "it makes no JSON with escaped values between quotation marks"
		}
	case media == bodyForm:
		if _, err := url.ParseQuery(placeholder.ReplaceAllString(plain, "x")); err != nil {
			return "it makes no form"
		}
	case media != bodyText:
		return "a webhook makes bodies of JSON, forms and plain text only"
	}
	config.Set("payload", "template")
	config.Set("payload_template", template)
	return ""
}

// makesJSON reports whether a template makes JSON with any values: each placeholder stands
// in a string, and not behind a backslash.
func makesJSON(template string) bool {
	for _, value := range []string{"", "x", `\"`} {
		if !json.Valid([]byte(placeholder.ReplaceAllLiteralString(template, value))) {
			return false
		}
	}
	return true
}

// basicAuthorization is the header of a user and a password.
func basicAuthorization(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// smsText is the text of a short message in a form, as a template.
const smsText = "{{incident_status}}%3A+{{incident_title}}"

// setForm sets the members of a webhook that sends a form whose last field is the text of the message.
func setForm(config *Object, authorization string, fields [][2]string, text string) {
	var form strings.Builder
	for _, field := range fields {
		form.WriteString(url.QueryEscape(field[0]) + "=" + url.QueryEscape(field[1]) + "&")
	}
	config.Set("headers", Object{{"Authorization", authorization}})
	config.Set("content_type", bodyForm)
	config.Set("payload", "template")
	config.Set("payload_template", Literal(form.String())+text+"="+smsText)
}

// twilioAddress is where Twilio takes the messages of an account.
func twilioAddress(account string) string {
	return "https://api.twilio.com/2010-04-01/Accounts/" + url.PathEscape(account) + "/Messages.json"
}
