// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// maxMessage bounds the body of a message, in bytes.
	maxMessage = 1 << 20
	// signatureAge is how far the time of a signature may be from now, as Standard Webhooks
	// recommends against repeated old messages.
	signatureAge = 5 * time.Minute
)

// receiver returns the handler of the receiver: POST /hook verifies the signatures, refuses
// as many valid messages as the state says with status 500, and accepts the others.
func (d *Demo) receiver() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /hook", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxMessage))
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		status, err := d.receive(r.Header, body)
		if err != nil {
			d.log.ErrorContext(r.Context(), "the receiver of the demo cannot keep a message", "error", err)
			status = http.StatusInternalServerError
		}
		w.WriteHeader(status)
	})
	return mux
}

// receive records a message and returns the status of the answer.
func (d *Demo) receive(header http.Header, body []byte) (status int, err error) {
	now := d.now()
	err = d.state.change(func(s *state) {
		attempt, _ := strconv.ParseInt(header.Get("X-Service-Attempt"), 10, 64)
		got := message{
			ID: header.Get("Webhook-Id"), Delivery: header.Get("X-Service-Delivery"), Attempt: attempt, Status: http.StatusOK,
			Valid: validSignature(header, body, s.Secret, now), At: now.UTC(),
		}
		switch {
		case !got.Valid:
			got.Status = http.StatusUnauthorized
		case s.Refuse > 0:
			s.Refuse--
			got.Status = http.StatusInternalServerError
		}
		status = got.Status
		kept := s.Messages[max(0, len(s.Messages)+1-maxMessages):]
		s.Messages = append(append([]message(nil), kept...), got)
	})
	return status, err
}

// validSignature verifies what a receiver should verify of a message: X-Service-Signature,
// the HMAC of the body, and the three headers of Standard Webhooks.
func validSignature(header http.Header, body []byte, secret string, now time.Time) bool {
	own := "sha256=" + hex.EncodeToString(sum(secret, body))
	if !hmac.Equal([]byte(header.Get("X-Service-Signature")), []byte(own)) {
		return false
	}
	id, at := header.Get("Webhook-Id"), header.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > signatureAge {
		return false
	}
	want := []byte("v1," + base64.StdEncoding.EncodeToString(sum(secret, append([]byte(id+"."+at+"."), body...))))
	for given := range strings.FieldsSeq(header.Get("Webhook-Signature")) {
		if hmac.Equal([]byte(given), want) {
			return true
		}
	}
	return false
}

func sum(secret string, text []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(text)
	return mac.Sum(nil)
}
