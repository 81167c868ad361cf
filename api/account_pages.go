// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/audit"
)

// Actions of the audit log that the choice on a page decides.
const (
	actionApproveChange = "account.email_change_approve"
	actionStopChange    = "account.email_change_stop"
	actionConfirm       = "recipient.confirm"
	actionUnsubscribe   = "recipient.unsubscribe"
)

// The fields of buttons. A form without one keeps credentials, allows a change, confirms a
// recipient or unsubscribes it.
const (
	fieldEnd    = "end_credentials" // of the page of a verification: yes
	fieldChoice = "choice"          // of the others
	yes         = "true"
	choiceStop  = "stop"  // the change, or all mail
	choiceAgain = "again" // subscribe
)

// shownTime is the form of a time on a page.
const shownTime = "2 January 2006, 15:04 MST"

func (p *pages) describeVerification(ctx context.Context, token string) (page, error) {
	shown := page{Title: "Confirm your email address", Buttons: []button{{Label: "Confirm"}}}
	info, err := p.verifications.store.VerificationInfo(ctx, hashToken(token))
	if err != nil {
		return shown, err
	}
	shown.Facts = []fact{{"Address", info.Email}}
	if info.User.EmailVerified {
		return shown, nil
	}
	from := info.User.CreatedAddress
	if from == "" {
		from = "not known"
	}
	shown.Facts = append(shown.Facts,
		fact{"Organization", info.Organization.Name}, fact{"Account made at", info.User.CreatedAt.UTC().Format(shownTime)}, fact{"from", from})
	for _, key := range info.Keys {
		made := key.CreatedAt.UTC().Format(shownTime)
		shown.Facts = append(shown.Facts, fact{"API key", key.Name + " (" + key.Prefix + "...), made at " + made})
	}
	shown.Buttons = []button{{Label: "This is my account"}, {Label: "I did not make this", Name: fieldEnd, Value: yes}}
	shown.Note = "If someone else made the account with your address, the second button ends their API keys, sessions and password, " +
		"and mails you a link to sign in."
	return shown, nil
}

func (p *pages) verify(_ http.ResponseWriter, r *http.Request) (page, error) {
	end := r.PostForm.Get(fieldEnd) == yes
	user, err := p.verifications.use(r.Context(), r.PostForm.Get("token"), end)
	switch {
	case err != nil:
		return page{}, err
	case end:
		return page{Title: "Ended", Message: endedMessage}, nil
	}
	return page{Title: "Confirmed", Message: user.Email + " is the address of your account.", Next: "/app"}, nil
}

func (p *pages) describeChange(ctx context.Context, token string) (page, error) {
	shown := page{
		Title:   "Another email address was requested",
		Buttons: []button{{Label: "Stop the change", Name: fieldChoice, Value: choiceStop}},
		Note:    "If you did not ask for it, stop the change and recover access: that ends every API key and session.",
	}
	change, err := p.verifications.store.EmailChange(ctx, hashToken(token))
	if err != nil {
		return shown, err
	}
	shown.Facts = []fact{
		{"Present address", change.User.Email},
		{"Requested address", change.NewEmail},
		{"Requested at", change.RequestedAt.UTC().Format(shownTime)},
	}
	if !change.Approved {
		shown.Buttons = append([]button{{Label: "Allow the change"}}, shown.Buttons...)
	}
	return shown, nil
}

func (p *pages) answerChange(_ http.ResponseWriter, r *http.Request) (page, error) {
	token := r.PostForm.Get("token")
	entry := audit.FromContext(r.Context())
	if r.PostForm.Get(fieldChoice) == choiceStop {
		entry.Action = actionStopChange
		change, err := p.verifications.store.StopEmailChange(r.Context(), hashToken(token))
		return page{Title: "Stopped", Message: change.User.Email + " stays the address of your account."}, err
	}
	entry.Action = actionApproveChange
	change, err := p.verifications.approveChange(r.Context(), token)
	return page{Title: "Allowed", Message: "The address changes when the link that was mailed to " + change.NewEmail + " is used."}, err
}

// recipientStore keeps the answers of recipients of email channels.
type recipientStore interface {
	MailRecipients(ctx context.Context, orgID uuid.UUID, addresses []string) (map[string]account.MailRecipient, error)
	// RecipientByToken returns the recipient of a mailed link, and the organization's name.
	RecipientByToken(ctx context.Context, token string) (account.MailRecipient, string, error)
	ConfirmRecipient(ctx context.Context, token string) error
	Unsubscribe(ctx context.Context, token string) error
}

func (p *pages) describeRecipient(ctx context.Context, token string) (page, error) {
	shown := page{
		Title:   "Get alerts by mail?",
		Buttons: []button{{Label: "Yes, mail me"}, {Label: "No, never mail me", Name: fieldChoice, Value: choiceStop}},
	}
	recipient, organization, err := p.recipients.RecipientByToken(ctx, token)
	if err != nil {
		return shown, err
	}
	shown.Facts = []fact{{"Organization", organization}, {"Your address", recipient.Address}}
	return shown, nil
}

func (p *pages) answerRecipient(_ http.ResponseWriter, r *http.Request) (page, error) {
	token := r.PostForm.Get("token")
	if r.PostForm.Get(fieldChoice) == choiceStop {
		audit.FromContext(r.Context()).Action = actionUnsubscribe
		return page{Title: "Noted", Message: "You get no mail from this organization."}, p.recipients.Unsubscribe(r.Context(), token)
	}
	return page{
		Title: "Confirmed", Message: "You get the alerts of this organization. Each mail has a link to unsubscribe.",
	}, p.recipients.ConfirmRecipient(r.Context(), token)
}

func (p *pages) describeSubscription(ctx context.Context, token string) (page, error) {
	shown := page{Title: "Unsubscribe from alerts", Buttons: []button{{Label: "Unsubscribe"}}}
	recipient, organization, err := p.recipients.RecipientByToken(ctx, token)
	if err != nil {
		return shown, err
	}
	shown.Facts = []fact{{"Organization", organization}, {"Your address", recipient.Address}}
	if at := recipient.UnsubscribedAt; at != nil {
		shown.Facts = append(shown.Facts, fact{"Unsubscribed at", at.UTC().Format(shownTime)})
		shown.Buttons = []button{{Label: "Subscribe again", Name: fieldChoice, Value: choiceAgain}}
	}
	return shown, nil
}

// unsubscribe takes the token of the address as well as that of the form: mail programs
// send a form of their own to the link in the header of a mail (RFC 8058).
func (p *pages) unsubscribe(_ http.ResponseWriter, r *http.Request) (page, error) {
	token := r.Form.Get("token")
	if r.PostForm.Get(fieldChoice) == choiceAgain {
		audit.FromContext(r.Context()).Action = actionConfirm
		again := page{Title: "Subscribed", Message: "You get the alerts of this organization again."}
		return again, p.recipients.ConfirmRecipient(r.Context(), token)
	}
	return page{
		Title: "Unsubscribed", Message: "You get no more mail from this organization. A link in any of its mails can undo this.",
	}, p.recipients.Unsubscribe(r.Context(), token)
}
