// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/config"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/secret"
)

// The values of secret members in the tests below.
const (
	secretText   = "s3cr3t-" + `"m<e>m&ber/`
	secretHeader = "s3cr3t-header/value"
)

// secretNames are the words in a member's name that demand the tag secret.
var secretNames = regexp.MustCompile(`password|token|key|secret`)

// membersAreTagged fails for a member whose name says that it is a secret and
// whose tag does not.
func membersAreTagged(t *testing.T, w *world, f fixture) {
	t.Helper()
	untagged(t, reflect.TypeOf(w.Config(f.kind)), func(path string) { t.Errorf("%s needs the tag secret", path) })
}

func untagged(t *testing.T, kind reflect.Type, report func(path string)) {
	t.Helper()
	for kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice {
		kind = kind.Elem()
	}
	if kind.Kind() != reflect.Struct {
		return
	}
	for _, field := range reflect.VisibleFields(kind) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		headers := field.Type.Kind() == reflect.Map && field.Type.Elem().Kind() == reflect.String
		if field.Tag.Get("secret") == "" && field.Type.Kind() != reflect.Bool && (secretNames.MatchString(name) || headers) {
			report(kind.Name() + "." + name)
		}
		untagged(t, field.Type, report)
	}
}

func TestMembersThatNeedTheTag(t *testing.T) {
	t.Parallel()
	var got []string
	untagged(t, reflect.TypeOf(struct {
		APIToken string            `json:"api_token"`
		Tagged   string            `json:"password" secret:"true"`
		Headers  map[string]string `json:"headers"`
		Inner    []*struct {
			A string `json:"routing_key"`
		} `json:"inner"`
		URL string `json:"url"`
	}{}), func(path string) { got = append(got, path) })
	if strings.Join(got, " ") != ".api_token .headers .routing_key" {
		t.Errorf("got %q", got)
	}
}

// secretsAreSealed holds that every tagged member of a config is sealed at rest,
// masked in answers, kept by the mask, and known to what redacts.
func secretsAreSealed(t *testing.T, w *world, f fixture) {
	t.Helper()
	fields := w.Secrets(f.kind)
	given, secrets := specimen(w, reflect.TypeOf(w.Config(f.kind)))
	raw := encode(t, given)
	if got := fields.Values(raw); len(got) != secrets {
		t.Errorf("%d of %d tagged members are known as secrets: %s", len(got), secrets, raw)
	}
	ring, err := secret.NewKeyring(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := ring.SealSecrets(fields, raw)
	if err != nil {
		t.Fatal(err)
	}
	masked := fields.Mask(raw)
	for what, text := range map[string]json.RawMessage{"sealed": sealed, "masked": masked} {
		noSecret(t, what+" config", string(text))
	}
	written := len(fields.Values(encode(t, given))) - strings.Count(string(raw), "api_key=")
	if got := strings.Count(string(masked), secret.Mask); got != written {
		t.Errorf("%d masks of %d secrets: %s", got, secrets, masked)
	}
	kept, err := fields.Keep(masked, raw)
	if err != nil || len(fields.Values(kept)) != secrets || strings.Contains(string(kept), secret.Mask) {
		t.Errorf("the mask keeps %s, %v", kept, err)
	}
}

// specimen is a config with a secret in every tagged member, and how many there
// are.
func specimen(w *world, kind reflect.Type) (value any, secrets int) {
	switch kind.Kind() { //nolint:exhaustive // the kinds that configs are made of
	case reflect.Pointer:
		return specimen(w, kind.Elem())
	case reflect.Slice:
		item, n := specimen(w, kind.Elem())
		return []any{item}, n
	case reflect.String:
		return "text", 0
	case reflect.Map:
		return object{"A": "text"}, 0
	case reflect.Struct:
		members := object{}
		for _, field := range reflect.VisibleFields(kind) {
			if field.Anonymous {
				continue
			}
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			n := 1
			switch field.Tag.Get("secret") {
			case "true":
				members[name] = secretText
			case "by-name":
				members[name] = object{"X-Auth-Token": secretHeader, "Accept": "*/*"}
			case "query":
				members[name] = "https://target.example/?a=b&api_key=" + url.QueryEscape(secretText)
				n = 2 // as it is written, and decoded
			case "if:body_secret":
				members[name], members["body_secret"] = secretText, true
			case "by-type":
				members["type"] = string(vigil.TypeHTTPS)
				members[name], n = specimen(w, reflect.TypeOf(w.Config(vigil.TypeHTTPS)))
			default:
				if members[name] != nil {
					continue // what is beside a by-type or an if member
				}
				members[name], n = specimen(w, field.Type)
			}
			secrets += n
		}
		return members, secrets
	}
	return 1, 0
}

// noSecret fails for a text that holds a secret in plaintext, percent-encoded or in
// base64.
func noSecret(t *testing.T, what, text string) {
	t.Helper()
	for _, secret := range []string{secretText, secretHeader} {
		quoted := strings.Trim(string(encode(t, secret)), `"`)
		for _, spelling := range []string{
			secret, quoted, url.QueryEscape(secret), url.PathEscape(secret),
			base64.StdEncoding.EncodeToString([]byte(secret)), base64.URLEncoding.EncodeToString([]byte(secret)),
		} {
			if strings.Contains(text, spelling) {
				t.Errorf("%s holds the secret as %s: %s", what, spelling, text)
			}
		}
	}
	if strings.Contains(text, "s3cr3t") {
		t.Errorf("%s holds a part of a secret: %s", what, text)
	}
}

// TestSecretsThatTheTargetRepeats: a secret that a target repeats is in
// no error, no metadata and no log line, alone or as the step of another check.
func TestSecretsThatTheTargetRepeats(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := func(text string) string {
		return strings.Join([]string{
			text, url.QueryEscape(text), url.PathEscape(text), strings.ToLower(url.QueryEscape(text)),
			base64.StdEncoding.EncodeToString([]byte(text)), base64.RawURLEncoding.EncodeToString([]byte("x" + text)),
		}, " ")
	}
	target := w.http(repeatAll(all))
	for _, kind := range []vigil.CheckType{vigil.TypeHTTP, vigil.TypeMultistep} {
		for name, value := range map[string]string{"Password": secretText, "Header": secretHeader} {
			t.Run(string(kind)+name, func(t *testing.T) {
				t.Parallel()
				given := object{
					"url": target, "headers": object{"X-Auth-Token": secretHeader}, "basic_auth": object{"username": "ann", "password": secretText},
					"assertions": []object{
						{"source": "header", "property": "X-" + name, "operator": "eq", "target": "nothing"},
						{"source": "json", "property": "$." + name, "operator": "eq", "target": "nothing"},
					},
				}
				if kind == vigil.TypeMultistep {
					given = object{"steps": []object{{"name": "one", "type": "http", "config": given}}}
				}
				seen := w.run(kind, given)
				if seen.Success || !strings.Contains(seen.Error, secret.Mask) {
					t.Errorf("%s: the target repeated nothing: %+v", value, seen)
				}
				var log bytes.Buffer
				slog.New(slog.NewJSONHandler(&log, nil)).Error("observation", "error", seen.Error, "seen", fmt.Sprintf("%+v", seen))
				noSecret(t, "the error", seen.Error)
				noSecret(t, "the metadata", string(encode(t, seen.Metadata)))
				noSecret(t, "a log line", log.String())
			})
		}
	}
}

// TestSecretsOfAllTypes holds that the members are known without a registry.
func TestSecretsOfAllTypes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	known := probe.Secrets()
	if len(known) != len(w.Types()) {
		t.Errorf("%d of %d types", len(known), len(w.Types()))
	}
	if got := config.Secrets(w.Config(vigil.TypeHTTP), nil); !reflect.DeepEqual(got, known[vigil.TypeHTTP]) || len(got.Members) != 7 {
		t.Errorf("http has %+v", got)
	}
	inner := json.RawMessage(`{"steps":[{"type":"multistep","config":{"steps":[{"type":"http","config":{"basic_auth":{"password":"s1"}}}]}}]}`)
	if got := known[vigil.TypeMultistep].Values(inner); len(got) != 1 {
		t.Errorf("a check inside a step has the secrets %q", got)
	}
}

// TestSecretsOfAddressAndBodyThatTheTargetRepeats holds the same for a key in the query and
// for a secret body: as a whole, and each text in it alone.
func TestSecretsOfAddressAndBodyThatTheTargetRepeats(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	target := w.http(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var inside struct{ Password string }
		_ = json.Unmarshal(body, &inside)
		w.Header().Set("X-Seen", r.URL.RawQuery+" "+r.URL.Query().Get("api_key")+" "+inside.Password)
		w.Header().Set("X-Body", string(body))
	})
	for _, kind := range []vigil.CheckType{vigil.TypeHTTP, vigil.TypeMultistep} {
		for _, header := range []string{"X-Seen", "X-Body"} {
			given := object{
				"url": target + "?a=b&api_key=" + url.QueryEscape(secretHeader), "method": "POST", "body_secret": true,
				"body":       `{"user":"ann","password":"` + `s3cr3t-of-the-body"}`,
				"assertions": []object{{"source": "header", "property": header, "operator": "eq", "target": "nothing"}},
			}
			if kind == vigil.TypeMultistep {
				given = object{"steps": []object{{"name": "one", "type": "http", "config": given}}}
			}
			seen := w.run(kind, given)
			if seen.Success || !strings.Contains(seen.Error, secret.Mask) {
				t.Errorf("%s: the target repeated nothing: %+v", header, seen)
			}
			noSecret(t, "the error", seen.Error)
			noSecret(t, "the metadata", string(encode(t, seen.Metadata)))
		}
	}
}
