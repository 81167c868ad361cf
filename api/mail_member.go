package api

import (
	"context"
	"fmt"
	"time"

	"vigil"
	"vigil/mail"
)

// memberChanged mails an owner of an organization what happened to a member of it.
func (m *accountMail) memberChanged(ctx context.Context, owner, member vigil.User, org vigil.Organization, what string) {
	m.notice(ctx, owner, mail.Message{
		Subject: "A member of your organization in Vigil",
		Text: fmt.Sprintf("%s (%s) %s the organization %s since %s, with the role %s.\n\n"+
			"If you do not expect this, remove the member on the page Members, or change the role there:\n\n%s/app/members\n",
			vigil.WithoutLinks(member.Name), member.Email, what, vigil.WithoutLinks(org.Name), m.now().UTC().Format(time.RFC1123), member.Role,
			m.publicURL),
	})
}
