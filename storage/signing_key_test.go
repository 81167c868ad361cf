// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/vigil-monitor/vigil/internal/drills"
)

// TestSigningKey proves that the key is made once, that it is sealed, and that what it signs can be
// verified with what is published alone.
func TestSigningKey(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	if keys, err := s.PublicKeys(t.Context()); err != nil || len(keys) != 0 {
		t.Fatalf("before the first use: %v, %v", keys, err)
	}
	var made sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids {
		made.Go(func() {
			key, err := s.SigningKey(t.Context())
			if err != nil {
				t.Error(err)
			}
			ids[i] = key.ID
		})
	}
	made.Wait()
	keys, err := s.PublicKeys(t.Context())
	if err != nil || len(keys) != 1 {
		t.Fatalf("published: %v, %v", keys, err)
	}
	for _, id := range ids {
		equal(t, id, keys[0].ID)
	}
	key, err := s.SigningKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := count(t, s, "SELECT count(*) FROM signing_keys WHERE strpos(sealed, ?) > 0",
		base64.StdEncoding.EncodeToString(key.Private.Seed())); n != 0 {
		t.Error("the private key is stored in clear")
	}
	const receipt = `{"verdict": "passed"}`
	verify(t, keys[0], key.Sign([]byte(receipt)), receipt)
	if _, err := s.Reseal(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, err := s.SigningKey(t.Context())
	if err != nil || again.ID != key.ID {
		t.Errorf("sealed again, the key is %s, %v", again.ID, err)
	}
}

// verify checks a JSON Web Signature as its reader does.
func verify(t *testing.T, key drills.PublicKey, signed, want string) {
	t.Helper()
	parts := strings.Split(signed, ".")
	if len(parts) != 3 {
		t.Fatalf("the signature is %s", signed)
	}
	raw := make([][]byte, 4)
	for i, part := range append(parts, key.X) {
		var err error
		if raw[i], err = base64.RawURLEncoding.DecodeString(part); err != nil {
			t.Fatal(err)
		}
	}
	var header struct{ Alg, Kid string }
	if err := json.Unmarshal(raw[0], &header); err != nil || header.Alg != "EdDSA" || header.Kid != key.ID {
		t.Errorf("the header is %s", raw[0])
	}
	if !ed25519.Verify(raw[3], []byte(parts[0]+"."+parts[1]), raw[2]) || string(raw[1]) != want {
		t.Errorf("the signature of %s is not valid", raw[1])
	}
	parts[1] = base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(want, "passed", "failed", 1)))
	if ed25519.Verify(raw[3], []byte(parts[0]+"."+parts[1]), raw[2]) {
		t.Error("the signature holds for another receipt")
	}
}
