// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/mail"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/internal/statuspage"
)

// readerKeys sign what readers of status pages keep: cookies and the links of messages.
func (s *Secrets) readerKeys() [][]byte {
	keys := make([][]byte, 0, 1+len(s.OlderSigning))
	for _, key := range append([][]byte{s.Signing}, s.OlderSigning...) {
		mac := hmac.New(sha256.New, key)
		_, _ = mac.Write([]byte("vigil status page readers v1"))
		keys = append(keys, mac.Sum(nil))
	}
	return keys
}

// readers let people subscribe to status pages.
func (p *Platform) readers() *statuspage.Readers {
	return &statuspage.Readers{
		Store: p.store, CheckEmail: mail.CheckAddress, NewSecret: notify.NewSecret,
		CheckHook: func(address string) error {
			if len(address) > maxHook {
				return errors.New("is too long")
			}
			if !strings.HasPrefix(address, "https://") && !p.Private.Open() {
				return errors.New("must begin with https://")
			}
			_, err := p.hook(address, "")
			return reasonOf(err)
		},
	}
}

// maxHook bounds the address of a reader's webhook, in bytes.
const maxHook = 500

// reasonOf is what an error says after the name of its member.
func reasonOf(err error) error {
	if err == nil {
		return nil
	}
	_, says, found := strings.Cut(err.Error(), ": ")
	if !found {
		says = err.Error()
	}
	return errors.New(says)
}

// hook returns what posts to an address, through the guard of all channels.
func (p *Platform) hook(address, secret string) (notify.Sender, error) {
	config := map[string]string{"url": address}
	if secret != "" {
		config["secret"] = secret
	}
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	return p.channels.Parse(vigil.ChannelWebhook, text)
}

// newTeller returns what notifies readers of status pages what happened.
func (p *Platform) newTeller() *statuspage.Teller {
	return statuspage.NewTeller(statuspage.TellerOptions{
		Store: p.store, Send: p.sendLetter, Schedule: vigil.RetrySchedule(p.settings.DeliverySchedule), PublicURL: string(p.settings.PublicURL),
		Tokens: statuspage.Tokens{Keys: p.secrets.readerKeys()}, Random: rand.Float64, Now: p.clock.Now, Log: p.Log,
	})
}

// sendLetter hands a letter to a mail server or a webhook.
func (p *Platform) sendLetter(ctx context.Context, letter statuspage.Letter, begins func() error) statuspage.Sent {
	if letter.To.Kind == overview.ReaderWebhook {
		sender, err := p.hook(letter.To.Address, letter.To.Secret)
		if err != nil {
			return statuspage.Sent{Err: reasonOf(err), Final: true}
		}
		if err := begins(); err != nil {
			return statuspage.Sent{Err: err}
		}
		outcome := sender.Send(ctx, notify.Message{
			Event: letter.ID, Delivery: letter.ID, Type: vigil.EventType(letter.Event), Attempt: 1, Time: p.clock.Now(), Envelope: letter.Body,
		})
		sent := statuspage.Sent{Final: outcome.Permanent, Gone: outcome.Gone, RetryAfter: outcome.RetryAfter, Answer: outcome.ResponseBody}
		if !outcome.Delivered() {
			sent.Err = errors.New(outcome.Error)
			// Without an answer to a request that was written it may have arrived.
			sent.Unknown = outcome.Written && outcome.StatusCode == 0 &&
				slices.Contains([]string{notify.CodeTimeout, notify.CodeReset, notify.CodeCanceled}, outcome.ErrorCode)
		}
		return sent
	}
	watch := &handing{begins: begins}
	errs := p.mailer.SendWatched(ctx, []mail.Message{
		{
			To: []string{
				letter.To.Address,
			},
			ID:          letter.ID.String() + "." + letter.To.ID.String(),
			Subject:     letter.Subject,
			Text:        letter.Text,
			Button:      letter.Button,
			Unsubscribe: letter.Leave,
		},
	}, watch)
	sent := statuspage.Sent{Err: errs[0]}
	if failure, ok := errors.AsType[*mail.Error](errs[0]); ok {
		sent.Final, sent.Unknown = failure.Refused || failure.Final(), failure.Unknown
		sent.Err = errors.New("the mail was not sent: " + failure.Code) // a reply of a server may have the address
	}
	return sent
}

// handing watches one mail.
type handing struct{ begins func() error }

func (h *handing) Begins(int) error { return h.begins() }
func (h *handing) Ended(int, error) {}
