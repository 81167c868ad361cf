// SPDX-License-Identifier: Apache-2.0

package secret_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/secret"
)

func keyring(t *testing.T, current byte, older ...byte) *secret.Keyring {
	t.Helper()
	old := make([][]byte, 0, len(older))
	for _, b := range older {
		old = append(old, bytes.Repeat([]byte{b}, 32))
	}
	ring, err := secret.NewKeyring(bytes.Repeat([]byte{current}, 32), old...)
	if err != nil {
		t.Fatal(err)
	}
	return ring
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
		if _, err := secret.NewKeyring(make([]byte, 16)); err == nil {
			t.Error("16 bytes were taken")
		}
		if _, err := secret.NewKeyring(make([]byte, 32), nil); err == nil {
			t.Error("an empty older key was taken")
		}
	})
	t.Run("SealSecretsLeavesNoneInClearAndOpenSecretsUndoesIt", func(t *testing.T) {
		t.Parallel()
		ring := keyring(t, 1)
		sealed, err := ring.SealSecrets(secretFields(), json.RawMessage(secretConfig))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(sealed), "Bearer") || strings.Count(string(sealed), `"v1:`) != 7 {
			t.Errorf("sealed config: %s", sealed)
		}
		opened, err := ring.OpenSecrets(secretFields(), sealed)
		if err != nil || !sameJSON(t, opened, json.RawMessage(secretConfig)) {
			t.Errorf("got %s, %v", opened, err)
		}
		damaged := json.RawMessage(strings.Replace(string(sealed), `"v1:`, `"v1:00000000:v1:`, 1))
		if _, err := ring.OpenSecrets(secretFields(), damaged); err == nil || !strings.HasPrefix(err.Error(), "basic_auth.password: ") {
			t.Errorf("a secret that was sealed with another key: %v", err)
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

func TestSealClear(t *testing.T) {
	t.Parallel()
	ring := keyring(t, 1)
	before, err := ring.Seal("s1")
	if err != nil {
		t.Fatal(err)
	}
	// The form of a version that knew the header's value only.
	stored := json.RawMessage(
		`{"headers":{"Authorization":"` + before + `","X-Auth-Token":"s2","Accept":"*/*"},` +
			`"password":"v1:short","smtp":{"password":"v1:xyzxyzxy:s4"}}`,
	)
	const clear = `{"headers":{"Authorization":"s1","X-Auth-Token":"s2","Accept":"*/*"},` +
		`"password":"v1:short","smtp":{"password":"v1:xyzxyzxy:s4"}}`
	opened, err := ring.OpenSecrets(secretFields(), stored)
	if err != nil || !sameJSON(t, opened, json.RawMessage(clear)) {
		t.Errorf("mixed forms open as %s, %v", opened, err)
	}
	sealed, err := ring.SealClear(secretFields(), stored)
	if err != nil || !strings.Contains(string(sealed), before) {
		t.Errorf("sealed as %s, %v", sealed, err)
	}
	// Each with a neighbor: sealed bytes are in base64, which may contain any word.
	for _, left := range []string{`"s2"`, "v1:short", `"s4"`, `:s4"`} {
		if strings.Contains(string(sealed), left) {
			t.Errorf("%s is left clear in %s", left, sealed)
		}
	}
	if opened, err = ring.OpenSecrets(secretFields(), sealed); err != nil || !sameJSON(t, opened, json.RawMessage(clear)) {
		t.Errorf("opens as %s, %v", opened, err)
	}
	if again, err := ring.SealClear(secretFields(), sealed); err != nil || string(again) != string(sealed) {
		t.Errorf("the second time gives %s, %v", again, err)
	}
}
