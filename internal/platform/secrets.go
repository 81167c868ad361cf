// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"

	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/secret"
	"github.com/vigil-monitor/vigil/storage"
)

// SecretKeyFile is the file of the data directory that holds the generated key,
// SecretKeySize its length in bytes.
const (
	SecretKeyFile = "secret.key"
	SecretKeySize = 32
)

// The purposes of derived keys separate them from the key that they are derived from,
// and from each other.
const (
	signingPurpose  = "vigil session tokens v1"
	payloadsPurpose = "vigil temporal payloads v1"
	pagesPurpose    = "vigil dashboard v1"
)

// Secrets are all keys of the platform, derived from the secret key.
type Secrets struct {
	Keyring *secret.Keyring
	// signing signs session tokens; tokens of older keys are still accepted.
	Signing      []byte
	OlderSigning [][]byte
	// pages signs what browsers keep for the dashboard.
	pages []byte
	// payloads encrypts what Temporal stores, and decrypts with the older keys too.
	Payloads *secret.Keyring
}

// secretStore returns a secret of size bytes in hexadecimal; the first call creates it.
type secretStore interface {
	Secret(name string, size int) (string, error)
}

// OpenSecrets uses the secret keys of the settings, else the one in the data directory.
// Without a data directory (nil) the setting is required: two processes with keys of
// their own could not read each other's secrets.
func OpenSecrets(s *Settings, dataDir secretStore) (Secrets, error) {
	keys := s.SecretKeys
	if len(keys) == 0 {
		if dataDir == nil {
			return Secrets{}, errors.New(
				"VIGIL_SECRET_KEY is not set; all processes of a platform need the same one (make one with: openssl rand -hex 32)",
			)
		}
		text, err := dataDir.Secret(SecretKeyFile, SecretKeySize)
		if err != nil {
			return Secrets{}, err
		}
		key, err := hex.DecodeString(text)
		if err != nil {
			return Secrets{}, fmt.Errorf("%s in the data directory holds no key: restore it from a backup", SecretKeyFile)
		}
		keys = SecretKeys{key}
	}
	ring, err := secret.NewKeyring(keys[0], keys[1:]...)
	if err != nil {
		return Secrets{}, fmt.Errorf("VIGIL_SECRET_KEY: %w", err)
	}
	opened := Secrets{Keyring: ring}
	signing, err := deriveKeys(keys, signingPurpose)
	if err != nil {
		return Secrets{}, err
	}
	opened.Signing, opened.OlderSigning = signing[0], signing[1:]
	pages, err := deriveKeys(keys, pagesPurpose)
	if err != nil {
		return Secrets{}, err
	}
	opened.pages = pages[0]
	payloads, err := deriveKeys(keys, payloadsPurpose)
	if err != nil {
		return Secrets{}, err
	}
	opened.Payloads, err = secret.NewKeyring(payloads[0], payloads[1:]...)
	return opened, err
}

// answerBound binds sealed answers of tests to their purpose.
const answerBound = "vigil test answer v1"

// keyIDSize is the length of the id of a key, in bytes.
const keyIDSize = 8

// sealAnswer encrypts what a test by hand saw on its way through Temporal, which keeps it.
func (s *Secrets) sealAnswer(plain []byte) ([]byte, error) {
	id, sealed, err := s.Payloads.SealBytes(plain, []byte(answerBound))
	return append([]byte(id), sealed...), err
}

// openAnswer decrypts it.
func (s *Secrets) openAnswer(sealed []byte) ([]byte, error) {
	if len(sealed) < keyIDSize {
		return nil, errors.New("the sealed answer is damaged")
	}
	return s.Payloads.OpenBytes(string(sealed[:keyIDSize]), sealed[keyIDSize:], []byte(answerBound))
}

// deriveKeys derives a key for a purpose from each of the secret keys (HKDF, RFC 5869).
func deriveKeys(keys SecretKeys, purpose string) ([][]byte, error) {
	derived := make([][]byte, len(keys))
	for i, key := range keys {
		var err error
		if derived[i], err = hkdf.Key(sha256.New, key, nil, purpose, SecretKeySize); err != nil {
			return nil, fmt.Errorf("derive a key of %s: %w", purpose, err)
		}
	}
	return derived, nil
}

// ConfigSecrets holds the secret members of the configs of all types.
func ConfigSecrets() secret.Configs {
	return secret.Configs{Checks: probe.Secrets(), Channels: notify.Secrets()}
}

// sealConfigs seals the secrets that an earlier version stored in plaintext. Only what
// runs the control worker does so: it is replaced after the region workers, and
// the older ones of these cannot read what is sealed now. Both forms can be read,
// so a failure stops nothing; the next start tries again.
func sealConfigs(ctx context.Context, store *storage.Store, log *slog.Logger) {
	changed, err := store.SealConfigs(ctx)
	switch {
	case err != nil:
		log.WarnContext(ctx, "secrets stored in clear are not sealed yet", "sealed", changed, "error", err)
	case changed > 0:
		log.InfoContext(ctx, "secrets that were stored in clear are sealed", "configs", changed)
	}
}
