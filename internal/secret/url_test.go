// SPDX-License-Identifier: Apache-2.0

package secret_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/secret"
)

func TestMaskParameters(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://a.example/":                               "https://a.example/",
		"https://a.example/token=x":                        "https://a.example/token=x",
		"https://a.example/?page=2&sort=name":              "https://a.example/?page=2&sort=name",
		"https://a.example/?token=s1":                      "https://a.example/?token=***",
		"https://a.example/?a=b&api_key=s1&c=d":            "https://a.example/?a=b&api_key=***&c=d",
		"https://a.example/?API-KEY=s1&Access_Token=s2":    "https://a.example/?API-KEY=***&Access_Token=***",
		"https://a.example/?X-Amz-Signature=s1":            "https://a.example/?X-Amz-Signature=***",
		"https://a.example/?X-Amz-Credential=s1":           "https://a.example/?X-Amz-Credential=***",
		"https://a.example/?sv=2&sig=s1%2F&se=3":           "https://a.example/?sv=2&sig=***&se=3",
		"https://a.example/?pwd=s1&pass=s2&passwd=s3":      "https://a.example/?pwd=***&pass=***&passwd=***",
		"https://a.example/?code=s1":                       "https://a.example/?code=***",
		"https://a.example/?postcode=12&design=x":          "https://a.example/?postcode=12&design=x",
		"https://a.example/?%74oken=s1":                    "https://a.example/?%74oken=***",
		"https://a.example/?auth[token]=s1":                "https://a.example/?auth[token]=***",
		"https://a.example/?token=s1&token=s2":             "https://a.example/?token=***&token=***",
		"https://a.example/?token=s1=s2?s3;s4":             "https://a.example/?token=***",
		"https://a.example/?a=b;token=s1":                  "https://a.example/?a=b;token=***",
		"https://a.example/?next=https://b/?token=s1&c=d":  "https://a.example/?next=https://b/?token=***&c=d",
		"https://a.example/#access_token=s1&state=x":       "https://a.example/#access_token=***&state=x",
		"https://a.example/?token=s1#s2":                   "https://a.example/?token=***",
		"https://a.example/?token=&key":                    "https://a.example/?token=&key",
		"https://{{host}}/?q={{q}}&token={{s1}}":           "https://{{host}}/?q={{q}}&token=***",
		"no address at all?token=s1":                       "no address at all?token=***",
		"https://a.example/?a=%zz&token%zz=s1&password=s2": "https://a.example/?a=%zz&token%zz=***&password=***",
	} {
		if got := secret.MaskParameters(address); got != want {
			t.Errorf("%s became %s, want %s", address, got, want)
		}
	}
}

func TestMaskAddress(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://chat.example.com/hooks/T000/B000/s1": "https://chat.example.com/***",
		"http://chat.example.com:8443/s1?s2#s3":       "http://chat.example.com:8443/***",
		"https://[2001:db8::1]:8443/s1":               "https://[2001:db8::1]:8443/***",
		"https://s1:s2@chat.example.com/s3":           "https://chat.example.com/***",
		"s1":                                          "***",
		"https:///s1":                                 "***",
		"https://chat.example.com/%zz":                "***",
	} {
		got := secret.MaskAddress(address)
		if got != want || !secret.IsMaskedAddress(got) || secret.IsMaskedAddress(address) {
			t.Errorf("%s became %s, want %s", address, got, want)
		}
	}
}

// addressFields are those of a webhook, a check and a chat in one.
func addressFields() secret.Fields {
	return secret.Fields{
		Members: map[string]secret.Fields{
			"url": {Query: true}, "webhook_url": {Secret: true, Address: true}, "body": {If: "body_secret"}, "secret": {Secret: true},
		},
		Places: []secret.PlaceMember{{Name: "url", URL: true}, {Name: "webhook_url", URL: true}},
	}
}

func TestAddressesAreSealed(t *testing.T) {
	t.Parallel()
	ring := keyring(t, 1)
	fields := addressFields()
	const config = `{"body":"s1","body_secret":true,"url":"https://a.example/?a=b&token=s2%2F#s3","webhook_url":"https://c.example/s4"}`
	sealed, err := ring.SealSecrets(fields, json.RawMessage(config))
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{`"s1"`, "=s2", "#s3", "/s4"} {
		if strings.Contains(string(sealed), secret) {
			t.Errorf("%s is clear in %s", secret, sealed)
		}
	}
	if opened, err := ring.OpenSecrets(fields, sealed); err != nil || string(opened) != config {
		t.Errorf("opened as %s, %v", opened, err)
	}
	if again, err := ring.SealClear(fields, sealed); err != nil || string(again) != string(sealed) {
		t.Errorf("sealed twice: %s, %v", again, err)
	}
	got := fields.Values(json.RawMessage(config))
	for _, want := range []string{"s1", "s2%2F", "s2/", "https://c.example/s4"} {
		if !slices.Contains(got, want) {
			t.Errorf("%s is not among %q", want, got)
		}
	}
	const clear = `{"body":"s1","body_secret":false,"url":"https://a.example/?a=b"}`
	if sealed, err := ring.SealSecrets(fields, json.RawMessage(clear)); err != nil || string(sealed) != clear {
		t.Errorf("a config without secrets became %s, %v", sealed, err)
	}
}

func TestMasksInAddresses(t *testing.T) {
	t.Parallel()
	const (
		query = `{"url":"https://a.example/x?a=b&token=s1%2F&token=s2"}`
		hook  = `{"webhook_url":"https://c.example/hooks/s3","secret":"s4"}`
		body  = `{"url":"https://a.example/","body":"s5","body_secret":true}`
	)
	url, webhook := []string{"config.url"}, []string{"config.webhook_url"}
	for name, tt := range map[string]struct {
		stored, given, want string
		members             []string
	}{
		"as it is shown": {stored: query, given: string(addressFields().Mask(json.RawMessage(query))), want: query},
		"encoded by a program": {
			stored: query, given: `{"url":"https://a.example/x?token=%2A%2A%2A"}`, want: `{"url":"https://a.example/x?token=s1%2F"}`,
		},
		"another path": {
			stored: query, given: `{"url":"https://A.example/y?token=***"}`, want: `{"url":"https://A.example/y?token=s1%2F"}`,
		},
		"another value": {
			stored: query, given: `{"url":"https://a.example/x?token=s9"}`, want: `{"url":"https://a.example/x?token=s9"}`,
		},
		"a mask of no secret":   {stored: query, given: `{"url":"https://a.example/x?a=***"}`, want: `{"url":"https://a.example/x?a=***"}`},
		"another host":          {stored: query, given: `{"url":"https://evil.example/x?token=***"}`, members: url},
		"another parameter":     {stored: query, given: `{"url":"https://a.example/x?api_key=***"}`, members: url},
		"one more of the name":  {stored: query, given: `{"url":"https://a.example/x?token=***&token=***&token=***"}`, members: url},
		"nothing stored":        {stored: `{"url":"https://a.example/"}`, given: `{"url":"https://a.example/?token=***"}`, members: url},
		"a chat as it is shown": {stored: hook, given: `{"webhook_url":"https://c.example/***","secret":"***"}`, want: hook},
		"a chat with the mask":  {stored: hook, given: `{"webhook_url":"***","secret":"***"}`, want: hook},
		"a chat with its port": {
			stored: hook, given: `{"webhook_url":"https://c.example:443/***"}`, want: `{"webhook_url":"https://c.example/hooks/s3"}`,
		},
		"a chat on another host": {stored: hook, given: `{"webhook_url":"https://evil.example/***"}`, members: webhook},
		"a chat without TLS":     {stored: hook, given: `{"webhook_url":"http://c.example/***"}`, members: webhook},
		"a chat that is new":     {stored: `{}`, given: `{"webhook_url":"https://c.example/***"}`, members: webhook},
		"a chat that is moved": {
			stored: hook, given: `{"webhook_url":"https://evil.example/new","secret":"***"}`, members: []string{"config.secret"},
		},
		"a body as it is shown": {stored: body, given: `{"url":"https://a.example/","body":"***","body_secret":true}`, want: body},
		"a body for elsewhere": {
			stored: body, given: `{"url":"https://evil.example/","body":"***","body_secret":true}`, members: []string{"config.body"},
		},
		"a body to be shown": {stored: body, given: `{"url":"https://a.example/","body":"***"}`, members: []string{"config.body"}},
		"a body of asterisks": {
			stored: `{"url":"https://a.example/"}`, given: `{"url":"https://a.example/","body":"***"}`,
			want: `{"url":"https://a.example/","body":"***"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept, err := addressFields().Keep(json.RawMessage(tt.given), json.RawMessage(tt.stored))
			wantMembers(t, err, tt.members)
			if err == nil && !sameJSON(t, kept, json.RawMessage(tt.want)) {
				t.Errorf("got %s, want %s", kept, tt.want)
			}
		})
	}
}
