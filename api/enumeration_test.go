// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/account"
)

// TestAnswersDoNotSayWhichAddressesHaveAccounts holds that, where mail leaves the machine,
// changes of the address, invitations and requests of accounts are answered the same for an
// address with an account and one without, and that the mail says the rest.
func TestAnswersDoNotSayWhichAddressesHaveAccounts(t *testing.T) {
	t.Parallel()
	mails, mailing := withMail(t)
	b := setup(t, mailing)
	owner := b.tier(t, b.owner(t, mails), account.TierPaid)
	taken := b.owner(t, mails).email
	const free = "free@example.com"
	// alike compares the answers to both addresses, but for the address, ids and tokens.
	alike := func(what string, ask func(email string) answer) {
		t.Helper()
		one, other := ask(taken), ask(free)
		if a, b := strings.ReplaceAll(string(one.raw), taken, free), string(other.raw); one.status != other.status || len(a) != len(b) {
			t.Errorf("%s: %d %s for an account, %d %s for none", what, one.status, a, other.status, b)
		}
	}
	mailed := func(address, has, lacks string) {
		t.Helper()
		eventually(t, "a mail to "+address+" with "+has, func() bool {
			for _, one := range letters(t, mails, address) {
				if strings.Contains(one, has) && (lacks == "" || !strings.Contains(one, lacks)) {
					return true
				}
			}
			return false
		})
	}

	alike("an invitation", func(email string) answer {
		return owner.do(t, http.MethodPost, "/v1/invitations", map[string]any{"email": email, "role": "viewer"})
	})
	mailed(free, "/app/invitation?token=", "")
	mailed(taken, "has an account in another organization", "token=")

	alike("a request of an account", func(email string) answer {
		return b.do(t, http.MethodPost, "/v1/auth/signup/request",
			map[string]any{"email": email, "name": "Ada", "organization_name": "Engines"})
	})
	mailed(free, "/app/sign-up/confirm?token=", "")
	mailed(taken, "/recover?token=", "")

	stranger := b.signup(t)
	for range 2 { // the second one, after the first is pending, also
		alike("a change of an address that is not proven", func(email string) answer {
			return stranger.do(t, http.MethodPut, "/v1/auth/email", map[string]any{"new_email": email})
		})
	}
	mailed(free, "/verify?token=", "")
	mailed(taken, "has one account, so nothing changes", "token=")
	alike("the link again", func(email string) answer {
		stranger.want(t, http.StatusOK, http.MethodPut, "/v1/auth/email", map[string]any{"new_email": email})
		return stranger.do(t, http.MethodPost, "/v1/auth/resend-verification", nil)
	})

	alike("a change of a proven address", func(email string) answer {
		return owner.do(t, http.MethodPut, "/v1/auth/email", map[string]any{"new_email": email})
	})
	// The member of the own organization is no secret.
	member := b.joins(t, mails, owner.client, account.RoleViewer)
	owner.want(t, http.StatusConflict, http.MethodPost, "/v1/invitations", map[string]any{"email": member.email, "role": "viewer"})
}

// TestSignupRequestWhereMailStays holds that an account is not asked for by mail where mail
// does not leave the machine, so that only its owner gets it.
func TestSignupRequestWhereMailStays(t *testing.T) {
	t.Parallel()
	setup(t).want(t, http.StatusConflict, http.MethodPost, "/v1/auth/signup/request",
		map[string]any{"email": "ada@example.com", "name": "Ada", "organization_name": "Engines"})
}
