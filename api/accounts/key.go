// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/vigil-monitor/vigil/internal/account"
)

// An API key is keyPrefix, keyRandom characters of base62 and keyChecksum
// characters that say whether they were copied whole. The checksum rejects a
// mistyped key without a query.
const (
	keyPrefix   = "vgl_"
	keyRandom   = 32
	keyChecksum = 6
	// keyShown characters of a key are stored in plaintext, to recognize the key.
	keyShown = len(keyPrefix) + 8
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// NewKey makes an API key: the key itself, which is shown once, and what is
// kept of it.
func NewKey(name string) (plain string, kept account.NewKey, err error) {
	secret, err := randomBase62(keyRandom)
	if err != nil {
		return "", account.NewKey{}, fmt.Errorf("make an API key: %w", err)
	}
	plain = keyPrefix + secret + checksum(secret)
	return plain, account.NewKey{Name: name, Prefix: plain[:keyShown], Hash: hashKey(plain)}, nil
}

// wellFormed reports whether a text can be an API key at all.
func wellFormed(key string) bool {
	body, ok := strings.CutPrefix(key, keyPrefix)
	if !ok || len(body) != keyRandom+keyChecksum {
		return false
	}
	return checksum(body[:keyRandom]) == body[keyRandom:]
}

// hashKey returns the stored form of a key. A key has 190 random bits, so that a fast
// hash is as good as a slow one.
func hashKey(key string) []byte {
	sum := sha256.Sum256([]byte(key))
	return sum[:]
}

// checksum writes the CRC-32 of a text in base62.
func checksum(text string) string {
	rest := crc32.ChecksumIEEE([]byte(text))
	var digits [keyChecksum]byte
	for i := keyChecksum - 1; i >= 0; i-- {
		digits[i] = base62[rest%62]
		rest /= 62
	}
	return string(digits[:])
}

// randomBase62 draws n characters, each equally likely.
func randomBase62(n int) (string, error) {
	const fair = 256 - 256%62 // bytes from here on would favour some characters
	out := make([]byte, 0, n)
	buf := make([]byte, 2*n)
	for len(out) < n {
		if _, err := rand.Read(buf); err != nil {
			return "", fmt.Errorf("read random bytes: %w", err)
		}
		for _, b := range buf {
			if int(b) < fair && len(out) < n {
				out = append(out, base62[b%62])
			}
		}
	}
	return string(out), nil
}
