// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Mask stands for a secret in everything that the API returns. Written
// back, it keeps the secret that is stored.
const Mask = "***"

// sealedVersion starts every sealed text and names its format.
const sealedVersion = "v1"

// Keyring seals secrets for rest with AES-256-GCM. It seals with one key and
// opens with that or any of the older ones, so that keys can be rotated.
type Keyring struct {
	current string
	ciphers map[string]cipher.AEAD
}

// NewKeyring makes a keyring from keys of 32 bytes; older keys only open.
func NewKeyring(current []byte, older ...[]byte) (*Keyring, error) {
	ring := &Keyring{ciphers: make(map[string]cipher.AEAD, 1+len(older))}
	for i, key := range append([][]byte{current}, older...) {
		if len(key) != 32 {
			return nil, fmt.Errorf("secret key %d has %d bytes instead of 32", i, len(key))
		}
		block, err := aes.NewCipher(key)
		if err != nil {
			return nil, fmt.Errorf("secret key %d: %w", i, err)
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, fmt.Errorf("secret key %d: %w", i, err)
		}
		id := keyID(key)
		ring.ciphers[id] = aead
		if i == 0 {
			ring.current = id
		}
	}
	return ring, nil
}

// keyID names a key without giving away anything of it.
func keyID(key []byte) string {
	sum := sha256.Sum256(append([]byte("vigil key id:"), key...))
	return hex.EncodeToString(sum[:4])
}

// Seal encrypts a text under the current key. Two seals of the same text differ.
func (k *Keyring) Seal(plain string) (string, error) {
	head := sealedVersion + ":" + k.current + ":"
	_, sealed, err := k.SealBytes([]byte(plain), []byte(head))
	if err != nil {
		return "", fmt.Errorf("seal a secret: %w", err)
	}
	return head + base64.RawStdEncoding.EncodeToString(sealed), nil
}

// Open decrypts what Seal made. A text that was changed, is not a sealed one or
// belongs to a key that the ring does not have is an error, which never shows
// the text.
func (k *Keyring) Open(sealed string) (string, error) {
	parts := strings.SplitN(sealed, ":", 3)
	if len(parts) != 3 || parts[0] != sealedVersion {
		return "", errors.New("open a secret: not a sealed text")
	}
	raw, err := base64.RawStdEncoding.DecodeString(parts[2])
	if err != nil && k.ciphers[parts[1]] != nil {
		return "", fmt.Errorf("open a secret: %w", errDamaged())
	}
	head := sealedVersion + ":" + parts[1] + ":"
	plain, err := k.OpenBytes(parts[1], raw, []byte(head))
	if err != nil {
		return "", fmt.Errorf("open a secret: %w", err)
	}
	return string(plain), nil
}

// SealBytes encrypts bytes under the current key and returns the id of that key, eight
// hexadecimal digits. OpenBytes needs the same bound bytes, which are authenticated and
// not part of the result. The result is 28 bytes longer: a random nonce before it, and
// the authentication tag behind it (AES-256-GCM, NIST SP 800-38D).
func (k *Keyring) SealBytes(plain, bound []byte) (keyID string, sealed []byte, err error) {
	aead := k.ciphers[k.current]
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(plain)+aead.Overhead())
	if _, err := rand.Read(nonce); err != nil {
		return "", nil, err
	}
	return k.current, aead.Seal(nonce, nonce, plain, bound), nil
}

// OpenBytes decrypts what SealBytes made under the key with that id. The error is an
// UnknownKeyError when the ring lacks the key; it never shows the bytes.
func (k *Keyring) OpenBytes(keyID string, sealed, bound []byte) ([]byte, error) {
	aead, ok := k.ciphers[keyID]
	if !ok {
		return nil, UnknownKeyError{ID: keyID}
	}
	if len(sealed) < aead.NonceSize() {
		return nil, errDamaged()
	}
	plain, err := aead.Open(nil, sealed[:aead.NonceSize()], sealed[aead.NonceSize():], bound)
	if err != nil {
		return nil, errDamaged()
	}
	return plain, nil
}

// UnknownKeyError is the error for bytes that are sealed with a key that a ring lacks.
type UnknownKeyError struct{ ID string }

// Error names the key.
func (e UnknownKeyError) Error() string {
	return fmt.Sprintf("it was sealed with key %q, which is not given", e.ID)
}

// errDamaged is the error for sealed bytes that were changed or cut.
func errDamaged() error { return errors.New("the sealed text is damaged") }

// SealSecrets seals every secret of a config, for storing it.
func (k *Keyring) SealSecrets(fields Fields, config json.RawMessage) (json.RawMessage, error) {
	return fields.rewrite(config, func(_, value string, _ Fields) (string, error) { return k.Seal(value) })
}

// SealClear seals the secrets of a stored config that are in plaintext, because
// their members were not secret yet when they were stored.
func (k *Keyring) SealClear(fields Fields, config json.RawMessage) (json.RawMessage, error) {
	return fields.rewrite(config, func(_, value string, _ Fields) (string, error) {
		if isSealed(value) {
			return value, nil
		}
		return k.Seal(value)
	})
}

// OpenSecrets undoes SealSecrets. A secret that was stored in plaintext stays as it
// is, see SealClear. The error names the member, never its value.
func (k *Keyring) OpenSecrets(fields Fields, config json.RawMessage) (json.RawMessage, error) {
	return fields.rewrite(config, func(path, value string, _ Fields) (string, error) {
		if !isSealed(value) {
			return value, nil
		}
		plain, err := k.Open(value)
		if err != nil {
			return "", fmt.Errorf("%s: %w", path, err)
		}
		return plain, nil
	})
}

// isSealed reports whether a text has the form that Seal gives: version, the
// eight hexadecimal digits of a key's id, and the rest.
func isSealed(text string) bool {
	rest, ok := strings.CutPrefix(text, sealedVersion+":")
	if !ok {
		return false
	}
	id, _, ok := strings.Cut(rest, ":")
	return ok && len(id) == 8 && strings.Trim(id, "0123456789abcdef") == ""
}
