package vigil_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"vigil"
)

func keyring(t *testing.T, current byte, older ...byte) *vigil.Keyring {
	t.Helper()
	old := make([][]byte, 0, len(older))
	for _, b := range older {
		old = append(old, bytes.Repeat([]byte{b}, 32))
	}
	ring, err := vigil.NewKeyring(bytes.Repeat([]byte{current}, 32), old...)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

const secretConfig = `{"url":"https://a.example/?q=<1>","headers":{"Authorization":"Bearer s1","x-api-key":"s2","Accept":"*/*","Cookie":"s3","proxy-authorization":"s7"},` +
	`"basic_auth":{"username":"u","password":"s4"},"smtp":{"password":""},"big":12345678901234567890,` +
	`"steps":[{"config":{"headers":{"AUTHORIZATION":"s5"},"password":"s6"}}],"authorization":"no header"}`

func TestMaskSecrets(t *testing.T) {
	t.Parallel()
	masked := string(vigil.MaskSecrets(json.RawMessage(secretConfig)))
	for _, secret := range []string{"s1", "s2", "s3", "s4", "s5", "s6", "s7"} {
		if strings.Contains(masked, `"`+secret) || strings.Contains(masked, secret+`"`) {
			t.Errorf("%s is still in %s", secret, masked)
		}
	}
	if got := strings.Count(masked, vigil.SecretMask); got != 7 {
		t.Errorf("%d masks, want 7: %s", got, masked)
	}
	for _, kept := range []string{`"Accept":"*/*"`, `"username":"u"`, `"big":12345678901234567890`, `?q=<1>`, `"authorization":"no header"`, `"smtp":{"password":""}`} {
		if !strings.Contains(masked, kept) {
			t.Errorf("%s is missing in %s", kept, masked)
		}
	}
	if got := vigil.MaskSecrets(json.RawMessage(`{"password":"x`)); string(got) != "null" {
		t.Errorf("broken JSON gives %s, want null", got)
	}
}

func TestKeepSecrets(t *testing.T) {
	t.Parallel()
	t.Run("MaskTakesTheStoredSecretAtTheSamePath", func(t *testing.T) {
		t.Parallel()
		stored := json.RawMessage(secretConfig)
		kept, err := vigil.KeepSecrets(vigil.MaskSecrets(stored), stored)
		if err != nil {
			t.Fatal(err)
		}
		if !sameJSON(t, kept, stored) {
			t.Errorf("got %s, want %s", kept, stored)
		}
	})
	t.Run("NewSecretReplacesTheStoredOne", func(t *testing.T) {
		t.Parallel()
		kept, err := vigil.KeepSecrets(json.RawMessage(`{"password":"new"}`), json.RawMessage(`{"password":"old"}`))
		if err != nil || string(kept) != `{"password":"new"}` {
			t.Errorf("got %s, %v", kept, err)
		}
	})
	t.Run("MaskWithNothingStoredNamesTheMember", func(t *testing.T) {
		t.Parallel()
		for _, stored := range []string{"", `{}`, `{"headers":{"Cookie":"c"}}`} {
			_, err := vigil.KeepSecrets(json.RawMessage(`{"headers":{"Authorization":"***"}}`), json.RawMessage(stored))
			if vigil.ErrorCode(err) != vigil.CodeInvalid || !strings.HasPrefix(vigil.ErrorMessage(err), "config.headers.Authorization: ") {
				t.Errorf("stored %q: got %v", stored, err)
			}
		}
	})
}

// onlyInStep has its only secret inside an array.
const onlyInStep = `{"steps":[{"name":"a","config":{"url":"https://a.example/"}},{"name":"b","config":{"password":"s1"}}]}`

func TestSecretInAnArray(t *testing.T) {
	t.Parallel()
	t.Run("IsMasked", func(t *testing.T) {
		t.Parallel()
		want := strings.Replace(onlyInStep, "s1", vigil.SecretMask, 1)
		if got := vigil.MaskSecrets(json.RawMessage(onlyInStep)); !sameJSON(t, got, json.RawMessage(want)) {
			t.Errorf("got %s, want %s", got, want)
		}
	})
	t.Run("IsSealedAndOpened", func(t *testing.T) {
		t.Parallel()
		ring := keyring(t, 1)
		sealed, err := ring.SealSecrets(json.RawMessage(onlyInStep))
		if err != nil || strings.Contains(string(sealed), "s1") || strings.Count(string(sealed), `"v1:`) != 1 {
			t.Fatalf("got %s, %v", sealed, err)
		}
		if opened, err := ring.OpenSecrets(sealed); err != nil || !sameJSON(t, opened, json.RawMessage(onlyInStep)) {
			t.Errorf("got %s, %v", opened, err)
		}
	})
	t.Run("ThatDoesNotOpenIsNamed", func(t *testing.T) {
		t.Parallel()
		_, err := keyring(t, 1).OpenSecrets(json.RawMessage(`{"steps":[{},{"config":{"password":"v1:00000000:AAAA"}}]}`))
		if err == nil || !strings.HasPrefix(err.Error(), "steps.1.config.password: ") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("IsKeptByTheMask", func(t *testing.T) {
		t.Parallel()
		stored := json.RawMessage(onlyInStep)
		kept, err := vigil.KeepSecrets(vigil.MaskSecrets(stored), stored)
		if err != nil || !sameJSON(t, kept, stored) {
			t.Errorf("got %s, %v", kept, err)
		}
	})
	t.Run("IsRefusedAsAMaskOfNothing", func(t *testing.T) {
		t.Parallel()
		for _, stored := range []string{"", `{}`, `{"steps":[{"config":{"password":"s1"}}]}`, `{"steps":[{},{"config":{"password":""}}]}`} {
			_, err := vigil.KeepSecrets(json.RawMessage(`{"steps":[{},{"config":{"password":"***"}}]}`), json.RawMessage(stored))
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
		masked := vigil.MaskSecrets(given)
		sealed, sealErr := ring.SealSecrets(given)
		opened, openErr := ring.OpenSecrets(given)
		kept, keepErr := vigil.KeepSecrets(given, nil)
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
		_, sealErr := ring.SealSecrets(broken)
		_, keepErr := vigil.KeepSecrets(broken, nil)
		_, storedErr := vigil.KeepSecrets(json.RawMessage(`{}`), broken)
		for _, err := range []error{sealErr, keepErr, storedErr} {
			if err == nil || strings.Contains(err.Error(), "s1") {
				t.Errorf("got %v", err)
			}
		}
	})
}

func TestKeyring(t *testing.T) {
	t.Parallel()
	t.Run("OpensWhatItSealed", func(t *testing.T) {
		t.Parallel()
		ring := keyring(t, 1)
		for _, plain := range []string{"", "x", "päss:wörd", strings.Repeat("long", 1000)} {
			first, err := ring.Seal(plain)
			if err != nil {
				t.Fatal(err)
			}
			second, _ := ring.Seal(plain)
			if first == second {
				t.Error("two seals of one text are equal")
			}
			if got, err := ring.Open(first); err != nil || got != plain {
				t.Errorf("got %q, %v", got, err)
			}
		}
	})
	t.Run("AnOlderKeyStillOpensAndTheCurrentOneSeals", func(t *testing.T) {
		t.Parallel()
		sealed, _ := keyring(t, 1).Seal("x")
		if got, err := keyring(t, 2, 1).Open(sealed); err != nil || got != "x" {
			t.Errorf("got %q, %v", got, err)
		}
		newer, _ := keyring(t, 2, 1).Seal("y")
		if _, err := keyring(t, 1).Open(newer); err == nil {
			t.Error("the older key opened what the current one sealed")
		}
	})
	t.Run("DamagedOrForeignTextIsAnErrorThatDoesNotShowIt", func(t *testing.T) {
		t.Parallel()
		ring := keyring(t, 1)
		sealed, _ := ring.Seal("x")
		foreign, _ := keyring(t, 9).Seal("x")
		swapped := strings.Replace(foreign, strings.Split(foreign, ":")[1], strings.Split(sealed, ":")[1], 1)
		for _, text := range []string{"plain secret", "v1:", "v1:00000000:AAAA", sealed[:len(sealed)-2], sealed[:20] + "%%", foreign, swapped} {
			if _, err := ring.Open(text); err == nil || strings.Contains(err.Error(), text) {
				t.Errorf("%q: got %v", text, err)
			}
		}
	})
	t.Run("KeysHaveThirtyTwoBytes", func(t *testing.T) {
		t.Parallel()
		if _, err := vigil.NewKeyring(make([]byte, 16)); err == nil {
			t.Error("16 bytes were taken")
		}
		if _, err := vigil.NewKeyring(make([]byte, 32), nil); err == nil {
			t.Error("an empty older key was taken")
		}
	})
	t.Run("SealSecretsLeavesNoneInClearAndOpenSecretsUndoesIt", func(t *testing.T) {
		t.Parallel()
		ring := keyring(t, 1)
		sealed, err := ring.SealSecrets(json.RawMessage(secretConfig))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(sealed), "Bearer") || strings.Count(string(sealed), `"v1:`) != 7 {
			t.Errorf("sealed config: %s", sealed)
		}
		opened, err := ring.OpenSecrets(sealed)
		if err != nil || !sameJSON(t, opened, json.RawMessage(secretConfig)) {
			t.Errorf("got %s, %v", opened, err)
		}
		if _, err := ring.OpenSecrets(json.RawMessage(`{"a":{"password":"clear"}}`)); err == nil || !strings.HasPrefix(err.Error(), "a.password: ") || strings.Contains(err.Error(), "clear") {
			t.Errorf("a secret that was not sealed: %v", err)
		}
	})
}

// sameJSON compares two documents by their members, numbers exactly.
func sameJSON(t *testing.T, a, b json.RawMessage) bool {
	t.Helper()
	canonical := func(raw json.RawMessage) string {
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.UseNumber()
		var tree any
		if err := decoder.Decode(&tree); err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	return canonical(a) == canonical(b)
}
