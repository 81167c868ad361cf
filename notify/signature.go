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

// sign adds the signatures of a body: the spec's (section 2, webhook), over the
// body with the secret as it is; and that of Standard Webhooks, over id, time
// and body, with the secret's bytes, or what whsec_ encodes.
func sign(header http.Header, secret, id string, at time.Time, body []byte) {
	header.Set(headerSignature, "sha256="+hex.EncodeToString(hmacSHA256([]byte(secret), body)))
	signed := append([]byte(id+"."+strconv.FormatInt(at.Unix(), 10)+"."), body...)
	header.Set(headerWebhookSignature, "v1,"+base64.StdEncoding.EncodeToString(hmacSHA256(standardKey(secret), signed)))
}

// standardKey is the key that a secret stands for in Standard Webhooks.
func standardKey(secret string) []byte {
	if encoded, ok := strings.CutPrefix(secret, standardSecret); ok {
		if key, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			return key
		}
	}
	return []byte(secret)
}

func hmacSHA256(key, message []byte) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write(message)
	return mac.Sum(nil)
}
