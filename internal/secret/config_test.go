// SPDX-License-Identifier: Apache-2.0

package secret_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/secret"
)

const secretConfig = `{"url":"https://a.example/?q=<1>",` +
	`"headers":{"Authorization":"Bearer s1","x-api-key":"s2","Accept":"*/*","Cookie":"s3","proxy-authorization":"s7"},` +
	`"basic_auth":{"username":"u","password":"s4"},"smtp":{"password":""},"big":12345678901234567890,` +
	`"steps":[{"config":{"headers":{"AUTHORIZATION":"s5"},"password":"s6"}}],"authorization":"no header"}`

// secretFields are those of secretConfig and onlyInStep.
func secretFields() secret.Fields {
	password := secret.Fields{Members: map[string]secret.Fields{"password": {Secret: true}}}
	web := secret.Fields{Members: map[string]secret.Fields{"headers": {ByName: true}, "basic_auth": password}}
	return secret.Fields{Members: map[string]secret.Fields{
		"headers":    {ByName: true},
		"basic_auth": password,
		"smtp":       password,
		"password":   {Secret: true},
		"routes":     {Secret: true},
		"steps": {
			Members: map[string]secret.Fields{"config": {ByType: map[vigil.CheckType]secret.Fields{"https": web, "mail": password}}},
		},
	}}
}

func TestMask(t *testing.T) {
	t.Parallel()
	masked := string(secretFields().Mask(json.RawMessage(secretConfig)))
	for _, secret := range []string{"s1", "s2", "s3", "s4", "s5", "s6", "s7"} {
		if strings.Contains(masked, `"`+secret) || strings.Contains(masked, secret+`"`) {
			t.Errorf("%s is still in %s", secret, masked)
		}
	}
	if got := strings.Count(masked, secret.Mask); got != 7 {
		t.Errorf("%d masks, want 7: %s", got, masked)
	}
	for _, kept := range []string{
		`"Accept":"*/*"`,
		`"username":"u"`,
		`"big":12345678901234567890`,
		`?q=<1>`,
		`"authorization":"no header"`,
		`"smtp":{"password":""}`,
	} {
		if !strings.Contains(masked, kept) {
			t.Errorf("%s is missing in %s", kept, masked)
		}
	}
	if got := secretFields().Mask(json.RawMessage(`{"password":"x`)); string(got) != "null" {
		t.Errorf("broken JSON gives %s, want null", got)
	}
}

func TestKeep(t *testing.T) {
	t.Parallel()
	t.Run("MaskTakesTheStoredSecretAtTheSamePath", func(t *testing.T) {
		t.Parallel()
		stored := json.RawMessage(secretConfig)
		kept, err := secretFields().Keep(secretFields().Mask(stored), stored)
		if err != nil {
			t.Fatal(err)
		}
		if !sameJSON(t, kept, stored) {
			t.Errorf("got %s, want %s", kept, stored)
		}
	})
	t.Run("NewSecretReplacesTheStoredOne", func(t *testing.T) {
		t.Parallel()
		kept, err := secretFields().Keep(json.RawMessage(`{"password":"new"}`), json.RawMessage(`{"password":"old"}`))
		if err != nil || string(kept) != `{"password":"new"}` {
			t.Errorf("got %s, %v", kept, err)
		}
	})
	t.Run("MaskWithNothingStoredNamesTheMember", func(t *testing.T) {
		t.Parallel()
		for _, stored := range []string{"", `{}`, `{"headers":{"Cookie":"c"}}`} {
			_, err := secretFields().Keep(json.RawMessage(`{"headers":{"Authorization":"***"}}`), json.RawMessage(stored))
			if vigil.ErrorCode(err) != vigil.CodeInvalid || !strings.HasPrefix(vigil.ErrorMessage(err), "config.headers.Authorization: ") {
				t.Errorf("stored %q: got %v", stored, err)
			}
		}
	})
}

// onlyInStep has its only secret inside an array.
const onlyInStep = `{"steps":[{"name":"a","config":{"url":"https://a.example/"}},{"name":"b","type":"mail","config":{"password":"s1"}}]}`

func TestSecretInAnArray(t *testing.T) {
	t.Parallel()
	t.Run("IsMasked", func(t *testing.T) {
		t.Parallel()
		want := strings.Replace(onlyInStep, "s1", secret.Mask, 1)
		if got := secretFields().Mask(json.RawMessage(onlyInStep)); !sameJSON(t, got, json.RawMessage(want)) {
			t.Errorf("got %s, want %s", got, want)
		}
	})
	t.Run("IsSealedAndOpened", func(t *testing.T) {
		t.Parallel()
		ring := keyring(t, 1)
		sealed, err := ring.SealSecrets(secretFields(), json.RawMessage(onlyInStep))
		if err != nil || strings.Contains(string(sealed), `"s1"`) || strings.Count(string(sealed), `"v1:`) != 1 {
			t.Fatalf("got %s, %v", sealed, err)
		}
		if opened, err := ring.OpenSecrets(secretFields(), sealed); err != nil || !sameJSON(t, opened, json.RawMessage(onlyInStep)) {
			t.Errorf("got %s, %v", opened, err)
		}
	})
	t.Run("ThatDoesNotOpenIsNamed", func(t *testing.T) {
		t.Parallel()
		_, err := keyring(t, 1).OpenSecrets(secretFields(), json.RawMessage(`{"steps":[{},{"config":{"password":"v1:00000000:AAAA"}}]}`))
		if err == nil || !strings.HasPrefix(err.Error(), "steps.1.config.password: ") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("IsKeptByTheMask", func(t *testing.T) {
		t.Parallel()
		stored := json.RawMessage(onlyInStep)
		kept, err := secretFields().Keep(secretFields().Mask(stored), stored)
		if err != nil || !sameJSON(t, kept, stored) {
			t.Errorf("got %s, %v", kept, err)
		}
	})
	t.Run("IsRefusedAsAMaskOfNothing", func(t *testing.T) {
		t.Parallel()
		for _, stored := range []string{"", `{}`, `{"steps":[{"config":{"password":"s1"}}]}`, `{"steps":[{},{"config":{"password":""}}]}`} {
			_, err := secretFields().Keep(json.RawMessage(`{"steps":[{},{"config":{"password":"***"}}]}`), json.RawMessage(stored))
			if vigil.ErrorCode(err) != vigil.CodeInvalid || !strings.HasPrefix(vigil.ErrorMessage(err), "config.steps.1.config.password: ") {
				t.Errorf("stored %q: got %v", stored, err)
			}
		}
	})
}

func TestConfigWithoutSecretsStaysByteForByte(t *testing.T) {
	t.Parallel()
	ring := keyring(t, 1)
	for _, config := range []string{
		``, `{ }`, "{\n \"b\" : 1.0, \"a\":1e3 }", `{"url":"https:\/\/a.example\/?q=<1>&\u0062","headers":{"Accept":"*\/*"}}`,
		`{ "steps" : [ {"b":1, "a":[ 1,2 ]} ], "password" : "" }`, `{"x":1,"x":2}`,
	} {
		given := json.RawMessage(config)
		masked := secretFields().Mask(given)
		sealed, sealErr := ring.SealSecrets(secretFields(), given)
		opened, openErr := ring.OpenSecrets(secretFields(), given)
		kept, keepErr := secretFields().Keep(given, nil)
		if sealErr != nil || openErr != nil || keepErr != nil {
			t.Fatalf("%s: %v, %v, %v", config, sealErr, openErr, keepErr)
		}
		for what, got := range map[string]json.RawMessage{"masked": masked, "sealed": sealed, "opened": opened, "kept": kept} {
			if string(got) != config {
				t.Errorf("%s: %q became %q", what, config, got)
			}
		}
	}
	t.Run("WhatIsNotJSONIsAnErrorThatDoesNotShowIt", func(t *testing.T) {
		t.Parallel()
		broken := json.RawMessage(`{"password":"s1`)
		_, sealErr := ring.SealSecrets(secretFields(), broken)
		_, keepErr := secretFields().Keep(broken, nil)
		_, storedErr := secretFields().Keep(json.RawMessage(`{}`), broken)
		for _, err := range []error{sealErr, keepErr, storedErr} {
			if err == nil || strings.Contains(err.Error(), "s1") {
				t.Errorf("got %v", err)
			}
		}
	})
}

func TestSecretFields(t *testing.T) {
	t.Parallel()
	t.Run("ValuesAreAllSecretsInOrder", func(t *testing.T) {
		t.Parallel()
		got := secretFields().Values(json.RawMessage(`{"routes":["r1","","r2"],"headers":{"A":"no","Cookie":"c"},"password":"p"}`))
		if strings.Join(got, " ") != "c p r1 r2" {
			t.Errorf("got %q", got)
		}
		if got := secretFields().Values(json.RawMessage(`{"password":"p"`)); got != nil {
			t.Errorf("got %q", got)
		}
	})
	t.Run("AStepHasTheFieldsOfItsType", func(t *testing.T) {
		t.Parallel()
		const step = `{"config":{"api_token":"s1","headers":{"X-Signature":"s2","A":"a"},"password":"s3"}}`
		for kind, want := range map[string]string{"https": "s2", "mail": "s3", "unknown": "s1 s2 s3"} {
			config := `{"steps":[{"type":"` + kind + `",` + step[1:] + `]}`
			if got := strings.Join(secretFields().Values(json.RawMessage(config)), " "); got != want {
				t.Errorf("%s: got %s, want %s", kind, got, want)
			}
		}
	})
	t.Run("AnUnknownTypeIsDescribedByNames", func(t *testing.T) {
		t.Parallel()
		known := secret.Configs{
			Checks:   map[vigil.CheckType]secret.Fields{"known": {}},
			Channels: map[vigil.ChannelType]secret.Fields{"known": secretFields()},
		}
		config := json.RawMessage(`{"url":"u","access_token":"s1","deep":[{"Password":"s2"}],"api_keys":["s3"]}`)
		if got := strings.Join(known.Check("other").Values(config), " "); got != "s1 s3 s2" {
			t.Errorf("check: %s", got)
		}
		if got := strings.Join(known.Channel("other").Values(config), " "); got != "s1 s3 s2" {
			t.Errorf("channel: %s", got)
		}
		if got := known.Check("known").Values(config); got != nil {
			t.Errorf("a known type: %s", got)
		}
		if got := known.Channel("known").Values(json.RawMessage(secretConfig)); len(got) != 7 {
			t.Errorf("a known channel: %s", got)
		}
		if got := known.Check("other").Mask(config); strings.Contains(string(got), "s1") {
			t.Errorf("masked: %s", got)
		}
	})
	t.Run("ANameWithAnEscapeIsFound", func(t *testing.T) {
		t.Parallel()
		if got := secretFields().Mask(json.RawMessage(`{"pass\u0077ord":"s1"}`)); strings.Contains(string(got), "s1") {
			t.Errorf("got %s", got)
		}
	})
	t.Run("WhatCannotHoldASecretIsNotParsed", func(t *testing.T) {
		t.Parallel()
		const broken = `{"url":"`
		if got := secretFields().Mask(json.RawMessage(broken)); string(got) != broken {
			t.Errorf("got %s", got)
		}
		if got := (secret.Fields{}).Mask(json.RawMessage(`{"\u`)); string(got) != `{"\u` {
			t.Errorf("got %s", got)
		}
		for _, fields := range []secret.Fields{{ByName: true}, {Secret: true}, {ByType: map[vigil.CheckType]secret.Fields{}}} {
			if got := fields.Mask(json.RawMessage(broken)); string(got) != "null" {
				t.Errorf("%+v: got %s", fields, got)
			}
		}
	})
	t.Run("TheFingerprintChangesWithTheMembers", func(t *testing.T) {
		t.Parallel()
		of := func(c secret.Configs) string {
			text, err := c.Fingerprint()
			if err != nil || len(text) != 64 {
				t.Fatalf("got %q, %v", text, err)
			}
			return text
		}
		one := secret.Configs{Checks: map[vigil.CheckType]secret.Fields{"a": secretFields(), "b": {}}}
		other := secret.Configs{Checks: map[vigil.CheckType]secret.Fields{"a": secretFields(), "b": {Secret: true}}}
		channel := secret.Configs{Channels: map[vigil.ChannelType]secret.Fields{"a": secretFields(), "b": {}}}
		want := of(one)
		if want != of(one) {
			t.Error("the same members have two fingerprints")
		}
		if want == of(other) || want == of(channel) || want == of(secret.Configs{}) {
			t.Error("different members have the same fingerprint")
		}
	})
}

func TestIsCredentialName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"Authorization": true, "proxy-authorization": true, "X-Auth-Token": true, "COOKIE": true, "X-Api-Key": true, "client_secret": true,
		"Password": true, "X-Hub-Signature-256": true, "X-Session": true, "Accept": false, "User-Agent": false, "Content-Type": false, "": false,
	} {
		if got := secret.IsCredentialName(name); got != want {
			t.Errorf("%q: got %v", name, got)
		}
	}
}
