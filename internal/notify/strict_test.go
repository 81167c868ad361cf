// SPDX-License-Identifier: Apache-2.0

package notify_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// rule is what a product accepts at a place of a body: it returns what is wrong there.
type rule func(at string, value any) []string

// object has only the members that a product knows, and those that it requires.
func object(required string, members map[string]rule) rule {
	return func(at string, value any) []string {
		given, ok := value.(map[string]any)
		if !ok {
			return []string{at + " is no object"}
		}
		var wrong []string
		for _, name := range strings.Fields(required) {
			if _, ok := given[name]; !ok {
				wrong = append(wrong, at+"."+name+" is missing")
			}
		}
		for _, name := range slices.Sorted(maps.Keys(given)) {
			check, ok := members[name]
			if !ok {
				wrong = append(wrong, at+"."+name+" is unknown")
				continue
			}
			wrong = append(wrong, check(at+"."+name, given[name])...)
		}
		return wrong
	}
}

func list(least, most int, of rule) rule {
	return func(at string, value any) []string {
		items, ok := value.([]any)
		if !ok || len(items) < least || len(items) > most {
			return []string{fmt.Sprintf("%s has not %d to %d items", at, least, most)}
		}
		var wrong []string
		for i, item := range items {
			wrong = append(wrong, of(fmt.Sprintf("%s[%d]", at, i), item)...)
		}
		return wrong
	}
}

// text has so many characters, counted as UTF-16 does, which is never fewer than others count.
func text(least, most int) rule {
	return func(at string, value any) []string {
		given, ok := value.(string)
		n := len(utf16.Encode([]rune(given)))
		broken := !utf8.ValidString(given) || strings.ContainsRune(given, utf8.RuneError)
		if !ok || broken || n > most || least > 0 && strings.TrimSpace(given) == "" {
			return []string{fmt.Sprintf("%s has %d characters, or is no text; from %d to %d are taken", at, n, least, most)}
		}
		return nil
	}
}

func oneOf(values ...string) rule {
	return func(at string, value any) []string {
		if given, ok := value.(string); !ok || !slices.Contains(values, given) {
			return []string{fmt.Sprintf("%s is %v, not one of %v", at, value, values)}
		}
		return nil
	}
}

func whole(least, most float64) rule {
	return func(at string, value any) []string {
		if given, ok := value.(float64); !ok || given != math.Trunc(given) || given < least || given > most {
			return []string{fmt.Sprintf("%s is %v, not a whole number from %v to %v", at, value, least, most)}
		}
		return nil
	}
}

func texts(most int) rule {
	return func(at string, value any) []string {
		given, ok := value.(map[string]any)
		if !ok {
			return []string{at + " is no object"}
		}
		var wrong []string
		for name, value := range given {
			wrong = append(wrong, text(1, most)(at+"."+name, value)...)
		}
		return wrong
	}
}

func address(at string, value any) []string {
	given, _ := value.(string)
	if u, err := url.Parse(given); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return []string{fmt.Sprintf("%s is no address: %v", at, value)}
	}
	return nil
}

func instant(at string, value any) []string {
	given, _ := value.(string)
	if _, err := time.Parse(time.RFC3339, given); err != nil {
		return []string{fmt.Sprintf("%s is no time: %v", at, value)}
	}
	return nil
}

func boolean(at string, value any) []string {
	if _, ok := value.(bool); !ok {
		return []string{at + " is neither true nor false"}
	}
	return nil
}

func null(at string, value any) []string {
	if value != nil {
		return []string{at + " is not null"}
	}
	return nil
}

// jsonBody judges a body of JSON of at most so many bytes.
func jsonBody(most int, of rule) func(posted) []string {
	return func(p posted) []string {
		var tree any
		if err := json.Unmarshal(p.body, &tree); err != nil {
			return []string{err.Error()}
		}
		wrong := of("body", tree)
		if len(p.body) > most {
			wrong = append(wrong, fmt.Sprintf("the body has %d bytes of %d", len(p.body), most))
		}
		if media := p.header.Get("Content-Type"); media != "application/json" {
			wrong = append(wrong, "the type is "+media)
		}
		return wrong
	}
}

// formBody judges the fields of a form.
func formBody(of rule) func(posted) []string {
	return func(p posted) []string {
		values, err := url.ParseQuery(string(p.body))
		if err != nil || p.header.Get("Content-Type") != "application/x-www-form-urlencoded" {
			return []string{fmt.Sprintf("no form: %v", err)}
		}
		fields := make(map[string]any)
		for name, given := range values {
			if fields[name] = given[0]; len(given) > 1 {
				return []string{name + " is given twice"}
			}
		}
		return of("form", fields)
	}
}

// strictReceivers judge requests as the products do, by the documents that the files of the formats
// name. They know the members that Vigil sends and the ones beside them.
func strictReceivers() map[form]func(posted) []string {
	all := strictChats()
	maps.Copy(all, strictPushes())
	maps.Copy(all, strictPagers())
	for _, kind := range []form{"chat/slack", "push/ntfy", "pager/pagerduty"} {
		all[form(kind.kind())] = all[kind]
	}
	return all
}

// calling judges method and end of the path as well.
func calling(method, path string, header string, judge func(posted) []string) func(posted) []string {
	return func(p posted) []string {
		wrong := judge(p)
		if p.method != method || !strings.HasSuffix(p.path, path) {
			wrong = append(wrong, p.method+" "+p.path+" is not the call")
		}
		if name, want, ok := strings.Cut(header, ": "); ok && !strings.HasPrefix(p.header.Get(name), want) {
			wrong = append(wrong, "the header "+name+" is "+p.header.Get(name))
		}
		return wrong
	}
}

func TestStrictReceiversRefuse(t *testing.T) {
	t.Parallel()
	body := func(text string) posted {
		return posted{method: "POST", body: []byte(text), header: map[string][]string{"Content-Type": {"application/json"}}}
	}
	const section = `{"type":"section","text":{"type":"mrkdwn","text":"a"}}`
	for name, test := range map[string]struct {
		form form
		body string
		want string
	}{
		"DiscordUnknown":  {"chat/discord", `{"content":"a","text":"b"}`, "body.text is unknown"},
		"DiscordLong":     {"chat/discord", `{"content":"` + strings.Repeat("a", 2001) + `"}`, "body.content has 2001"},
		"DiscordEmpty":    {"chat/discord", `{"content":" "}`, "nothing to show"},
		"GoogleSlackForm": {"chat/google_chat", `{"text":"a","blocks":[]}`, "body.blocks is unknown"},
		"SlackBlocks":     {"chat/slack", `{"text":"a","blocks":[` + strings.Repeat(section+",", 50) + section + `]}`, "body.blocks has not"},
		"SlackEmptyBlock": {
			"chat/slack", `{"text":"a","blocks":[{"type":"section","text":{"type":"mrkdwn","text":""}}]}`, "body.blocks[0].text.text has 0",
		},
		"Opsgenie":     {"pager/opsgenie", `{"message":"` + strings.Repeat("a", 131) + `"}`, "body.message has 131"},
		"Alertmanager": {"pager/alertmanager", `[{"labels":{"severity":"a"},"annotations":{}}]`, "body[0].labels.alertname is missing"},
	} {
		if got := strings.Join(strictReceivers()[test.form](body(test.body)), "; "); !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
