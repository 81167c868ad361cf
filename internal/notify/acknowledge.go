// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
)

// AcknowledgeLifetime is how long a link works after the event of the message that has it.
const AcknowledgeLifetime = 7 * 24 * time.Hour

// AcknowledgePage is the path of the page with the button.
const AcknowledgePage = "/acknowledge"

// maxReader bounds the name of a reader in a link, in bytes: that of an address of a mail (RFC 5321).
const maxReader = 254

// AcknowledgeLinks makes and reads the links by which the reader of a message acknowledges its incident without signing
// in. A link is a signature, so none is stored. It names the incident and the channel that was notified, and works for
// AcknowledgeLifetime. Opening it changes nothing, since mail scanners open links: its page has a button.
type AcknowledgeLinks struct {
	keys      [][]byte // the first signs, and all are accepted
	publicURL string
}

// NewAcknowledgeLinks returns the links of a platform. publicURL is the address of its API, without a trailing slash, and empty where
// there are no links. The first of the secrets signs them, and all are accepted.
func NewAcknowledgeLinks(publicURL string, secrets ...[]byte) AcknowledgeLinks {
	links := AcknowledgeLinks{publicURL: publicURL}
	for _, secret := range secrets {
		links.keys = append(links.keys, macOf(secret, []byte("vigil acknowledge v1")))
	}
	return links
}

// Made reports whether there are links.
func (l AcknowledgeLinks) Made() bool { return len(l.keys) > 0 && l.publicURL != "" }

// Acknowledgement is what a link says.
type Acknowledgement struct {
	Incident, Channel uuid.UUID
	// Who reads the message, such as an address of a mail; empty where it is sent to many.
	Who string
	// Until is when it stops to work, to the second.
	Until time.Time
}

// linkHead is how many bytes stand before the name of the reader: two IDs and a time.
const linkHead = 2*16 + 8

// URL returns the address of a link; empty without a key or a public URL.
func (l AcknowledgeLinks) URL(of Acknowledgement) string {
	if !l.Made() {
		return ""
	}
	text := append(of.Incident[:], of.Channel[:]...)
	text = binary.BigEndian.AppendUint64(text, uint64(max(0, of.Until.Unix())))
	text = append(text, vigil.Truncate(of.Who, maxReader)...)
	token := base64.RawURLEncoding.EncodeToString(text) + "." + base64.RawURLEncoding.EncodeToString(macOf(l.keys[0], text))
	return l.publicURL + AcknowledgePage + "?token=" + url.QueryEscape(token)
}

// Read returns what a token says; CodeInvalid for one that is changed, or too old.
func (l AcknowledgeLinks) Read(token string, now time.Time) (Acknowledgement, error) {
	payload, signature, _ := strings.Cut(token, ".")
	text, err := base64.RawURLEncoding.DecodeString(payload)
	mac, macErr := base64.RawURLEncoding.DecodeString(signature)
	if err != nil || macErr != nil || len(text) < linkHead || !l.signed(text, mac) {
		return Acknowledgement{}, vigil.Errorf(vigil.CodeInvalid, "This link is not complete. Copy all of it from the message.")
	}
	link := Acknowledgement{
		Incident: uuid.UUID(text[:16]), Channel: uuid.UUID(text[16:32]), Who: string(text[linkHead:]),
		Until: time.Unix(int64(binary.BigEndian.Uint64(text[32:linkHead])), 0).UTC(), //nolint:gosec // URL wrote it
	}
	if !now.Before(link.Until) {
		return Acknowledgement{}, vigil.Errorf(
			vigil.CodeInvalid,
			"This link is older than 7 days and does not work any more. Sign in to acknowledge the incident.",
		)
	}
	return link, nil
}

func (l AcknowledgeLinks) signed(text, mac []byte) bool {
	for _, key := range l.keys {
		if hmac.Equal(mac, macOf(key, text)) {
			return true
		}
	}
	return false
}

func macOf(key, text []byte) []byte {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write(text)
	return mac.Sum(nil)
}
