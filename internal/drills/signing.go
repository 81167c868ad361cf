// SPDX-License-Identifier: Apache-2.0

package drills

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
)

// SigningKey signs what people keep and show to others, such as the receipts of drills.
type SigningKey struct {
	// ID is the thumbprint of the public key (RFC 7638).
	ID      string
	Private ed25519.PrivateKey
}

// NewSigningKey returns the key of a seed of ed25519.SeedSize bytes.
func NewSigningKey(seed []byte) SigningKey {
	private := ed25519.NewKeyFromSeed(seed)
	key := SigningKey{Private: private}
	public := key.Public()
	sum := sha256.Sum256(fmt.Appendf(nil, `{"crv":"Ed25519","kty":"OKP","x":%q}`, public.X))
	key.ID = base64.RawURLEncoding.EncodeToString(sum[:])
	return key
}

// Sign returns a JSON Web Signature of a payload in the compact form (RFC 7515, RFC 8037).
func (k *SigningKey) Sign(payload []byte) string {
	encode := base64.RawURLEncoding.EncodeToString
	text := encode(fmt.Appendf(nil, `{"alg":"EdDSA","kid":%q}`, k.ID)) + "." + encode(payload)
	return text + "." + encode(ed25519.Sign(k.Private, []byte(text)))
}

// PublicKey is the public half of a SigningKey as a JSON Web Key (RFC 7517, RFC 8037).
type PublicKey struct {
	KeyType   string `json:"kty"`
	Curve     string `json:"crv"`
	X         string `json:"x"`
	ID        string `json:"kid"`
	Use       string `json:"use"`
	Algorithm string `json:"alg"`
}

// Public returns the public half.
func (k *SigningKey) Public() PublicKey {
	public, _ := k.Private.Public().(ed25519.PublicKey)
	return NewPublicKey(k.ID, public)
}

// NewPublicKey returns a public key as it is published.
func NewPublicKey(id string, public ed25519.PublicKey) PublicKey {
	return PublicKey{
		KeyType: "OKP", Curve: "Ed25519", X: base64.RawURLEncoding.EncodeToString(public), ID: id, Use: "sig", Algorithm: "EdDSA",
	}
}
