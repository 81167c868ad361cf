// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil"
)

// The headers by which a receiver verifies the sender of a body.
const (
	headerSignature        = "X-Service-Signature"
	headerWebhookID        = "Webhook-Id"
	headerWebhookTimestamp = "Webhook-Timestamp"
	headerWebhookSignature = "Webhook-Signature"
)

// standardSecret begins a secret in the form of Standard Webhooks, whose rest is
// the key in base64.
const standardSecret = "whsec_"

// exampleSecret is a key of 24 bytes in that form.
const exampleSecret = standardSecret + "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3"

// sign adds the signatures of a body: the spec's (section 2, webhook), over the
// body with the secret as it is; and that of Standard Webhooks, over id, time
// and body, with the key of standardKey.
func sign(header http.Header, secret string, key []byte, id string, at time.Time, body []byte) {
	header.Set(headerSignature, "sha256="+hex.EncodeToString(hmacSHA256([]byte(secret), body)))
	signed := append([]byte(id+"."+strconv.FormatInt(at.Unix(), 10)+"."), body...)
	header.Set(headerWebhookSignature, "v1,"+base64.StdEncoding.EncodeToString(hmacSHA256(key, signed)))
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
