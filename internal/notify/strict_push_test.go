// SPDX-License-Identifier: Apache-2.0

package notify_test

import (
	"fmt"
	"mime"
	"strconv"
	"strings"
	"unicode/utf8"
)

func strictPushes() map[form]func(posted) []string {
	digits := func(least, most int) rule {
		return func(at string, value any) []string {
			given, _ := value.(string)
			if n, err := strconv.Atoi(given); err != nil || n < least || n > most {
				return []string{fmt.Sprintf("%s is %v, not from %d to %d", at, value, least, most)}
			}
			return nil
		}
	}
	return map[form]func(posted) []string{
		"push/ntfy": calling("POST", "/alerts", "", func(p posted) []string {
			var wrong []string
			if len(p.body) > 4096 || len(p.body) == 0 || !utf8.Valid(p.body) {
				wrong = append(wrong, fmt.Sprintf("the message has %d bytes, or is no UTF-8", len(p.body)))
			}
			wrong = append(wrong, digits(1, 5)("Priority", p.header.Get("Priority"))...)
			if title, err := new(mime.WordDecoder).DecodeHeader(p.header.Get("Title")); err != nil || !utf8.ValidString(title) {
				wrong = append(wrong, "the title cannot be read")
			}
			if click := p.header.Get("Click"); click != "" {
				wrong = append(wrong, address("Click", click)...)
			}
			return wrong
		}),
		"push/gotify": calling("POST", "/message", "X-Gotify-Key: ", jsonBody(1<<20, object("message", map[string]rule{
			"title": text(0, 1<<20), "message": text(1, 1<<20), "priority": whole(0, 10),
			"extras": object("", map[string]rule{
				"client::display":      object("contentType", map[string]rule{"contentType": oneOf("text/plain", "text/markdown")}),
				"client::notification": object("", map[string]rule{"click": object("url", map[string]rule{"url": address})}),
			}),
		}))),
		"push/pushover": calling("POST", "/1/messages.json", "", formBody(object("token user message", map[string]rule{
			"token": text(1, 255), "user": text(1, 255), "message": text(1, 1024), "title": text(1, 250), "priority": digits(-2, 1),
			"timestamp": digits(0, 1<<40), "device": text(1, 100), "url_title": text(1, 100), "sound": text(1, 20),
			"url": func(at string, value any) []string { return append(text(1, 512)(at, value), address(at, value)...) },
		}))),
	}
}

func strictPagers() map[form]func(posted) []string {
	opsgenie := func(p posted) []string {
		if strings.HasSuffix(p.path, "/close") {
			return calling("POST", "/v2/alerts/33333333-3333-4333-8333-333333333333/close", "Authorization: GenieKey ",
				jsonBody(1<<20, object("", map[string]rule{"source": text(1, 100), "note": text(0, 25000), "user": text(1, 100)})))(p)
		}
		return calling("POST", "/v2/alerts", "Authorization: GenieKey ", jsonBody(1<<20, object("message", map[string]rule{
			"message": text(1, 130), "alias": text(1, 512), "description": text(0, 15000), "details": texts(800), "entity": text(0, 512),
			"source": text(1, 100), "priority": oneOf("P1", "P2", "P3", "P4", "P5"), "tags": list(0, 20, text(1, 50)),
		})))(p)
	}
	anything := func(string, any) []string { return nil }
	return map[form]func(posted) []string{
		"pager/pagerduty": calling("POST", "/v2/enqueue", "", jsonBody(512<<10, object("routing_key event_action dedup_key", map[string]rule{
			"routing_key": text(1, 255), "event_action": oneOf("trigger", "acknowledge", "resolve"), "dedup_key": text(1, 255),
			"client": text(1, 255), "client_url": anything, "payload": object("summary source severity", map[string]rule{
				"summary": text(1, 1024), "source": text(1, 1<<16), "severity": oneOf("critical", "error", "warning", "info"), "timestamp": instant,
				"component": text(0, 1<<16), "group": text(0, 1<<16), "class": text(0, 1<<16), "custom_details": anything,
			}),
		}))),
		"pager/opsgenie": opsgenie,
		"pager/jsm":      opsgenie,
		"pager/incident_io": calling("POST", "/v2/alert_events/http/01GW", "Authorization: Bearer ", jsonBody(1<<20,
			object("title status deduplication_key", map[string]rule{
				"title": text(1, 4096), "description": text(0, 1<<16), "deduplication_key": text(1, 255), "status": oneOf("firing", "resolved"),
				"source_url": address, "metadata": texts(4096),
			}))),
		"pager/alertmanager": calling("POST", "/api/v2/alerts", "Authorization: Bearer ", jsonBody(1<<20, list(1, 1, strictAlert))),
		"pager/splunk_oncall": calling("POST", "/alert/"+pathToken+"/"+pathToken+"-route", "", jsonBody(1<<20,
			object("message_type entity_id", map[string]rule{
				"message_type": oneOf("CRITICAL", "WARNING", "ACKNOWLEDGEMENT", "INFO", "RECOVERY"), "entity_id": text(1, 512),
				"entity_display_name": text(1, 512), "state_message": text(0, 20<<10), "state_start_time": whole(1, 1<<40),
				"monitoring_tool": text(1, 255), "alert_url": address,
			}))),
	}
}

// strictAlert refuses labels without a value and an end before the beginning.
func strictAlert(at string, value any) []string {
	wrong := object("labels annotations", map[string]rule{
		"labels": func(at string, value any) []string {
			given, _ := value.(map[string]any)
			if given["alertname"] == nil {
				return []string{at + ".alertname is missing"}
			}
			return texts(4096)(at, value)
		},
		"annotations": texts(1 << 16), "startsAt": instant, "endsAt": instant, "generatorURL": address,
	})(at, value)
	given, _ := value.(map[string]any)
	starts, _ := given["startsAt"].(string)
	if ends, _ := given["endsAt"].(string); starts > ends {
		wrong = append(wrong, at+" ends before it starts")
	}
	return wrong
}
