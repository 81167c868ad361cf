// SPDX-License-Identifier: Apache-2.0

package agents

import (
	"crypto/rand"
	"crypto/sha256"
	"strings"

	"github.com/vigil-monitor/vigil/internal/agentlink"
)

// tokenShown characters of a token are stored in plaintext, to recognize it.
const tokenShown = len(agentlink.TokenPrefix) + 8

// TokenHash is by what a token is known: its SHA-256.
func TokenHash(token string) []byte {
	hash := sha256.Sum256([]byte(token))
	return hash[:]
}

// newToken returns a token of 130 random bits.
func newToken() string { return agentlink.TokenPrefix + strings.ToLower(rand.Text()) }
