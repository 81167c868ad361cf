// SPDX-License-Identifier: Apache-2.0

package agentlink

import (
	"crypto/ecdh"
	"crypto/hpke"
	"fmt"
	"strconv"

	"github.com/google/uuid"
)

// Configs are sealed by HPKE in base mode (RFC 9180) with DHKEM(X25519, HKDF-SHA256), HKDF-SHA256
// and ChaCha20Poly1305. A message is the encapsulated key and the ciphertext.

// PrivateKey opens what is sealed to an agent.
type PrivateKey struct{ key hpke.PrivateKey }

// NewKey returns a private key from the random source of the system.
func NewKey() (PrivateKey, error) {
	key, err := kem().GenerateKey()
	if err != nil {
		return PrivateKey{}, fmt.Errorf("generate a key: %w", err)
	}
	return PrivateKey{key}, nil
}

// Public returns the public key as Hello has it, 32 bytes.
func (k PrivateKey) Public() []byte { return k.key.PublicKey().Bytes() }

// Open opens the config of a check.
func (k PrivateKey) Open(check *Check) ([]byte, error) {
	config, err := hpke.Open(k.key, hpke.HKDFSHA256(), hpke.ChaCha20Poly1305(), info(check.ID, check.Revision), check.Sealed)
	if err != nil {
		return nil, fmt.Errorf("open the config of check %s: %w", check.ID, err)
	}
	return config, nil
}

// PublicKey seals to an agent.
type PublicKey struct{ key hpke.PublicKey }

// ParseKey reads a public key. Its error says what would be right.
func ParseKey(encoded []byte) (PublicKey, error) {
	key, err := kem().NewPublicKey(encoded)
	if err != nil {
		return PublicKey{}, fmt.Errorf("a public key of X25519 has 32 bytes: %w", err)
	}
	return PublicKey{key}, nil
}

// Seal seals the config of a revision of a check. It cannot be opened as that of another check or
// revision.
func (k PublicKey) Seal(check uuid.UUID, revision int64, config []byte) ([]byte, error) {
	sealed, err := hpke.Seal(k.key, hpke.HKDFSHA256(), hpke.ChaCha20Poly1305(), info(check, revision), config)
	if err != nil {
		return nil, fmt.Errorf("seal the config of check %s: %w", check, err)
	}
	return sealed, nil
}

func kem() hpke.KEM { return hpke.DHKEM(ecdh.X25519()) }

func info(check uuid.UUID, revision int64) []byte {
	return []byte("vigil agent 1 config " + check.String() + " " + strconv.FormatInt(revision, 10))
}
