// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/drills"
)

// drillHopLine is a hop of the receipt.
type drillHopLine struct {
	Name, Text string
	Mark       mark
	At         stamp  // none for one that is missing
	Since      string // the hop before it, in milliseconds
}

// hopWord says what happened at a hop.
type hopWord struct {
	name drills.Hop
	text string
}

// hopWords are the hops in their order.
func hopWords() []hopWord {
	return []hopWord{
		{drills.HopAsked, "The drill was asked for and stored"},
		{drills.HopStored, "Its check, its rules and its loops were stored"},
		{drills.HopLoopStarted, "Temporal accepted the loop"},
		{drills.HopSlot, "The first probe was due"},
		{drills.HopProbed, "A worker of the region began it"},
		{drills.HopVoted, "Its result and the vote of the region were stored"},
		{drills.HopOpened, "The incident and its messages were stored"},
		{drills.HopFirstAttempt, "The first message was on its way"},
		{drills.HopDelivered, "The last channel answered"},
		{drills.HopFallbackDelivered, "The last fallback answered"},
		{drills.HopRedefined, "The check was made healthy"},
		{drills.HopVoteWithdrawn, "No region said any more that it fails"},
		{drills.HopResolved, "The end of the incident was stored"},
		{drills.HopRecoveryDelivered, "The last channel answered the message about the end"},
		{drills.HopRecoveryFallbackDelivered, "The last fallback answered the message about the end"},
	}
}

// drillHops lists the hops that were passed, and among them those that the receipt names as missing.
// One that was passed and is named was late.
func drillHops(r *request, receipt *client.DrillReceipt) []drillHopLine {
	passed, wrong := make(map[string]*client.DrillHop), make(map[string]bool)
	for k := range receipt.Hops {
		passed[string(receipt.Hops[k].Name)] = &receipt.Hops[k]
	}
	for k := range receipt.Failures {
		wrong[string(receipt.Failures[k].Hop)] = true
	}
	var lines []drillHopLine
	for _, hop := range hopWords() {
		line := drillHopLine{Name: string(hop.name), Text: hop.text, Mark: newMark("done", "Passed")}
		at := passed[line.Name]
		switch {
		case at == nil && !wrong[line.Name]:
			continue
		case at == nil:
			line.Mark = newMark("failed", "Missing")
		default:
			line.At = r.exact(at.At)
			if len(lines) > 0 {
				line.Since = number(at.MsSincePrevious)
			}
			if wrong[line.Name] {
				line.Mark = newMark("warn", "Late")
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// drillSigned is how a receipt is proved.
type drillSigned struct {
	JSON, JWS string // addresses of the downloads; JWS is empty without a signature
	KeyID     string
	Keys      string // address of the public keys
}

func (r *request) drillSigned(d *client.Drill) *drillSigned {
	at := "/app/drills/" + d.Id.String() + "/receipt"
	signed := &drillSigned{JSON: at + ".json", Keys: r.s.deps.Config.PublicURL + "/.well-known/vigil-keys"}
	if d.SignedReceipt != nil {
		signed.JWS = at + ".jws"
		signed.KeyID = signingKeyOf(*d.SignedReceipt)
	}
	return signed
}

// signingKeyOf is the key that a JSON Web Signature of the platform names; empty for none.
func signingKeyOf(jws string) string {
	first, _, _ := strings.Cut(jws, ".")
	var header struct {
		Kid string `json:"kid"`
	}
	text, err := base64.RawURLEncoding.DecodeString(first)
	if err != nil || json.Unmarshal(text, &header) != nil {
		return ""
	}
	return header.Kid
}

// drillReceiptJWS sends the signed receipt as a file.
func (s *Server) drillReceiptJWS(r *request) error {
	found, err := readDrill(r)
	if err != nil {
		return err
	}
	if found.JSON200.Data.SignedReceipt == nil {
		return errNoPage()
	}
	return r.download(found, "jws", "application/jose", []byte(*found.JSON200.Data.SignedReceipt))
}

// drillReceiptJSON sends the receipt as a file: the text that is signed, where one is.
func (s *Server) drillReceiptJSON(r *request) error {
	found, err := readDrill(r)
	if err != nil {
		return err
	}
	d := &found.JSON200.Data
	if d.Receipt == nil {
		return errNoPage()
	}
	if d.SignedReceipt != nil {
		if parts := strings.Split(*d.SignedReceipt, "."); len(parts) == 3 {
			if text, err := base64.RawURLEncoding.DecodeString(parts[1]); err == nil {
				return r.download(found, "json", "application/json", text)
			}
		}
	}
	text, err := json.Marshal(d.Receipt)
	if err != nil {
		return err
	}
	return r.download(found, "json", "application/json", text)
}

// download sends a receipt as a file that is named by the day and the drill.
func (r *request) download(drill *client.GetDrillResponse, extension, kind string, text []byte) error {
	d := &drill.JSON200.Data
	name := "drill-" + d.AskedAt.UTC().Format(time.DateOnly) + "-" + d.Id.String() + "." + extension
	r.w.Header().Set("Content-Type", kind)
	r.w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	_, _ = r.w.Write(text) // an error: the client has gone
	return nil
}
