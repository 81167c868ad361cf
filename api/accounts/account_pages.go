// SPDX-License-Identifier: Apache-2.0

package accounts

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

func (p *Pages) describeVerification(ctx context.Context, token string) (Page, error) {
	shown := Page{Title: "Confirm your email address", Buttons: []Button{{Label: "Confirm"}}}
	info, err := p.verifications.store.VerificationInfo(ctx, hashToken(token))
	if err != nil {
		return shown, err
	}
	shown.Facts = []Fact{{"Address", info.Email}}
	if info.User.EmailVerified {
		return shown, nil
	}
	from := info.User.CreatedAddress
	if from == "" {
		from = "not known"
	}
	shown.Facts = append(shown.Facts,
		Fact{"Organization", info.Organization.Name}, Fact{"Account made at", info.User.CreatedAt.UTC().Format(shownTime)}, Fact{"from", from})
	for _, key := range info.Keys {
		made := key.CreatedAt.UTC().Format(shownTime)
		shown.Facts = append(shown.Facts, Fact{"API key", key.Name + " (" + key.Prefix + "...), made at " + made})
	}
	shown.Buttons = []Button{{Label: "This is my account"}, {Label: "I did not make this", Name: fieldEnd, Value: yes}}
	shown.Note = "If someone else made the account with your address, the second button ends their API keys, sessions and password, " +
		"and mails you a link to sign in."
	return shown, nil
}

func (p *Pages) verify(_ http.ResponseWriter, r *http.Request) (Page, error) {
	end := r.PostForm.Get(fieldEnd) == yes
	user, err := p.verifications.use(r.Context(), r.PostForm.Get("token"), end)
	switch {
	case err != nil:
		return Page{}, err
	case end:
		return Page{Title: "Ended", Message: endedMessage}, nil
	}
	return Page{Title: "Confirmed", Message: user.Email + " is the address of your account.", Next: "/app"}, nil
}

func (p *Pages) describeChange(ctx context.Context, token string) (Page, error) {
	shown := Page{
		Title:   "Another email address was requested",
		Buttons: []Button{{Label: "Stop the change", Name: fieldChoice, Value: choiceStop}},
		Note:    "If you did not ask for it, stop the change and recover access: that ends every API key and session.",
	}
	change, err := p.verifications.store.EmailChange(ctx, hashToken(token))
	if err != nil {
		return shown, err
	}
	shown.Facts = []Fact{
		{"Present address", change.User.Email},
		{"Requested address", change.NewEmail},
		{"Requested at", change.RequestedAt.UTC().Format(shownTime)},
	}
	if !change.Approved {
		shown.Buttons = append([]Button{{Label: "Allow the change"}}, shown.Buttons...)
	}
	return shown, nil
}

func (p *Pages) answerChange(_ http.ResponseWriter, r *http.Request) (Page, error) {
	token := r.PostForm.Get("token")
	entry := audit.FromContext(r.Context())
	if r.PostForm.Get(fieldChoice) == choiceStop {
		entry.Action = actionStopChange
		change, err := p.verifications.store.StopEmailChange(r.Context(), hashToken(token))
		return Page{Title: "Stopped", Message: change.User.Email + " stays the address of your account."}, err
	}
	entry.Action = actionApproveChange
	change, err := p.verifications.approveChange(r.Context(), token)
	return Page{Title: "Allowed", Message: "The address changes when the link that was mailed to " + change.NewEmail + " is used."}, err
}

// RecipientStore keeps the answers of recipients of email channels.
type RecipientStore interface {
	MailRecipients(ctx context.Context, orgID uuid.UUID, addresses []string) (map[string]account.MailRecipient, error)
	// RecipientByToken returns the recipient of a mailed link, and the organization's name.
	RecipientByToken(ctx context.Context, token string) (account.MailRecipient, string, error)
	ConfirmRecipient(ctx context.Context, token string) error
	Unsubscribe(ctx context.Context, token string) error
}

func (p *Pages) describeRecipient(ctx context.Context, token string) (Page, error) {
	shown := Page{
		Title:   "Get alerts by mail?",
		Buttons: []Button{{Label: "Yes, mail me"}, {Label: "No, never mail me", Name: fieldChoice, Value: choiceStop}},
	}
	recipient, organization, err := p.recipients.RecipientByToken(ctx, token)
	if err != nil {
		return shown, err
	}
	shown.Facts = []Fact{{"Organization", organization}, {"Your address", recipient.Address}}
	return shown, nil
}

func (p *Pages) answerRecipient(_ http.ResponseWriter, r *http.Request) (Page, error) {
	token := r.PostForm.Get("token")
	if r.PostForm.Get(fieldChoice) == choiceStop {
		audit.FromContext(r.Context()).Action = actionUnsubscribe
		return Page{Title: "Noted", Message: "You get no mail from this organization."}, p.recipients.Unsubscribe(r.Context(), token)
	}
	return Page{
		Title: "Confirmed", Message: "You get the alerts of this organization. Each mail has a link to unsubscribe.",
	}, p.recipients.ConfirmRecipient(r.Context(), token)
}

func (p *Pages) describeSubscription(ctx context.Context, token string) (Page, error) {
	shown := Page{Title: "Unsubscribe from alerts", Buttons: []Button{{Label: "Unsubscribe"}}}
	recipient, organization, err := p.recipients.RecipientByToken(ctx, token)
	if err != nil {
		return shown, err
	}
	shown.Facts = []Fact{{"Organization", organization}, {"Your address", recipient.Address}}
	if at := recipient.UnsubscribedAt; at != nil {
		shown.Facts = append(shown.Facts, Fact{"Unsubscribed at", at.UTC().Format(shownTime)})
		shown.Buttons = []Button{{Label: "Subscribe again", Name: fieldChoice, Value: choiceAgain}}
	}
	return shown, nil
}

// unsubscribe takes the token of the address as well as that of the form: mail programs
// send a form of their own to the link in the header of a mail (RFC 8058).
func (p *Pages) unsubscribe(_ http.ResponseWriter, r *http.Request) (Page, error) {
	token := r.Form.Get("token")
	if r.PostForm.Get(fieldChoice) == choiceAgain {
		audit.FromContext(r.Context()).Action = actionConfirm
		again := Page{Title: "Subscribed", Message: "You get the alerts of this organization again."}
		return again, p.recipients.ConfirmRecipient(r.Context(), token)
	}
	return Page{
		Title: "Unsubscribed", Message: "You get no more mail from this organization. A link in any of its mails can undo this.",
	}, p.recipients.Unsubscribe(r.Context(), token)
}
