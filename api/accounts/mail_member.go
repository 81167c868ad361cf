// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"context"
	"fmt"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/mail"
)

// memberChanged mails an owner of an organization what happened to a member of it.
func (m *accountMail) memberChanged(ctx context.Context, owner, member account.User, org account.Organization, what string) {
	m.notice(ctx, owner, mail.Message{
		Subject: "A member of your organization in Vigil",
		Text: fmt.Sprintf("%s (%s) %s the organization %s since %s, with the role %s.\n\n"+
			"If you do not expect this, remove the member on the page Members, or change the role there:\n\n%s/app/members\n",
			vigil.WithoutLinks(member.Name), member.Email, what, vigil.WithoutLinks(org.Name), m.now().UTC().Format(time.RFC1123), member.Role,
			m.publicURL),
	})
}

// organizationDeleted mails a former owner who deleted the organization. It takes no place of a
// quota, which would keep a row about an account that is gone.
func (m *accountMail) organizationDeleted(ctx context.Context, owner, by account.User, org account.Organization) {
	m.send(ctx, "mail an owner of a deleted organization", mail.Message{
		To: []string{owner.Email}, Subject: "Your organization in Vigil is deleted",
		Text: fmt.Sprintf("%s (%s) deleted the organization %s at %s, with the accounts of its members and everything that it had. "+
			"It cannot be restored.\n\nIf you do not expect this, write to the operator of this instance: %s\n",
			vigil.WithoutLinks(by.Name), by.Email, vigil.WithoutLinks(org.Name), m.now().UTC().Format(time.RFC1123), m.publicURL),
	})
}

// accountDeleted mails a former user that the account is deleted.
func (m *accountMail) accountDeleted(ctx context.Context, user account.User) {
	m.send(ctx, "mail the owner of a deleted account", mail.Message{
		To: []string{user.Email}, Subject: "Your account in Vigil is deleted",
		Text: fmt.Sprintf("Your account at %s was deleted at %s. It cannot be restored.\n\n"+
			"If you do not expect this, write to an owner of your organization, who can invite you again.\n",
			m.publicURL, m.now().UTC().Format(time.RFC1123)),
	})
}

// invitation mails the link of an invitation. An address that has an account in another
// organization is mailed that it cannot accept: no answer of the API says so.
func (m *accountMail) invitation(ctx context.Context, by *rest.Caller, invitation account.Invitation, token string) {
	if m.mailer == nil {
		return
	}
	begin := fmt.Sprintf("%s (%s) invites you to the organization %s in Vigil, with the role %s.",
		vigil.WithoutLinks(by.User.Name), by.User.Email, vigil.WithoutLinks(by.Org.Name), invitation.Role)
	message := mail.Message{
		To:      []string{invitation.Email},
		Subject: "You are invited to an organization in Vigil",
		Button:  "Accept the invitation",
	}
	m.tasks.Start(ctx, "send an invitation", func(ctx context.Context) error {
		_, err := m.store.UserByEmail(ctx, invitation.Email)
		switch {
		case err == nil:
			message.Text = begin + " This address has an account in another organization, and an address has one account. " +
				"To accept, ask for an invitation to another address.\n\nIf you do not know the sender, do nothing.\n"
		case vigil.ErrorCode(err) == vigil.CodeNotFound:
			message.Text = begin + " To accept, open\n\n" + m.publicURL + "/app/invitation?token=" + token + "\n\n" +
				"and choose a password there. The link works once, for 7 days.\n\n" +
				"If you do not know the sender, do nothing: without the link nothing happens.\n"
		default:
			return err
		}
		return m.deliver(ctx, message)
	})
}
