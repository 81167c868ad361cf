// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil"
)

// The headers by which a receiver verifies the sender of a body.
const (
	headerSignature        = "X-Service-Signature"
	headerFormerSignature  = "X-Service-Signature-Previous"
	headerWebhookID        = "Webhook-Id"
	headerWebhookTimestamp = "Webhook-Timestamp"
	headerWebhookSignature = "Webhook-Signature"
)

// standardSecret begins a secret in the form of Standard Webhooks, whose rest is
// the key in base64.
const standardSecret = "whsec_"

// exampleSecret is a key of 24 bytes in that form.
const exampleSecret = standardSecret + "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"

// signingKey is a secret and the key that it stands for in Standard Webhooks.
type signingKey struct {
	secret string // empty: nothing is signed by it
	key    []byte
}

// NewSecret makes a secret of 32 random bytes, in the form of Standard Webhooks.
func NewSecret() (string, error) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return "", fmt.Errorf("make a secret: %w", err)
	}
	return standardSecret + base64.StdEncoding.EncodeToString(key), nil
}

// WithFormerSecret returns a sender whose messages are signed by a former secret too, while a
// rotation overlaps. A sender that does not sign, and an empty secret, change nothing.
func WithFormerSecret(sender Sender, former string) Sender {
	w, ok := sender.(*webhook)
	if !ok || former == "" || w.signing.secret == "" {
		return sender
	}
	key, err := standardKey(former)
	if err != nil {
		return sender // a secret that no receiver could verify with
	}
	both := *w
	both.former = signingKey{former, key}
	both.hidden = w.hidden.With(former, string(key))
	return &both
}

// sign adds the signatures of a body: the spec's (section 2, webhook), over the
// body with the secret as it is; and that of Standard Webhooks, over id, time
// and body, with the key of standardKey. With a former secret the latter has a signature for
// each of the two, separated by a space, and the former one's of the spec has a header of its own.
func sign(header http.Header, by, former signingKey, id string, at time.Time, body []byte) {
	signed := append([]byte(id+"."+strconv.FormatInt(at.Unix(), 10)+"."), body...)
	signatures := by.standard(signed)
	header.Set(headerSignature, by.plain(body))
	if former.secret != "" {
		header.Set(headerFormerSignature, former.plain(body))
		signatures += " " + former.standard(signed)
	}
	header.Set(headerWebhookSignature, signatures)
}

// plain is the signature of the spec.
func (k signingKey) plain(body []byte) string {
	return "sha256=" + hex.EncodeToString(hmacSHA256([]byte(k.secret), body))
}

// standard is the signature of Standard Webhooks.
func (k signingKey) standard(signed []byte) string {
	return "v1," + base64.StdEncoding.EncodeToString(hmacSHA256(k.key, signed))
}

// standardKey is the key that a secret stands for in Standard Webhooks. The error is a
// CodeInvalid error: a secret that says to be in that form has to be, since its receiver
// would verify with another key.
func standardKey(secret string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(secret, standardSecret)
	if !ok {
		return []byte(secret), nil
	}
	key, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || len(key) == 0 || strings.ContainsAny(encoded, "\r\n") {
		return nil, vigil.Invalid("config.secret", "begins with %s and must go on in base64 with its padding, "+
			"such as %s: letters, digits, + and /, and = up to a multiple of 4 characters. Any other secret begins with something else",
			standardSecret, exampleSecret)
	}
	return key, nil
}

func hmacSHA256(key, message []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(message)
	return mac.Sum(nil)
}
