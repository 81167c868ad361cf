// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"net/url"
	"testing"
)

// TestAnswersByLinkAreAudited holds that what somebody decides by a mailed link is in the
// audit log of the organization that it concerns: the answers of an address that is to be
// replaced, and those of a recipient.
func TestAnswersByLinkAreAudited(t *testing.T) {
	t.Parallel()
	b := setupMail(t)
	a := b.signup(t)
	b.prove(t, a)
	a.want(t, http.StatusOK, http.MethodPut, "/v1/auth/email", map[string]any{"new_email": "moved-" + a.email})
	token := b.link(t, a.email, "email-change")
	b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/email/approve", map[string]any{"token": token})
	b.want(t, http.StatusOK, http.MethodPost, "/v1/auth/email/stop", map[string]any{"token": token})
	a.audited(t, "account.email_change_approve", "account.email_change_stop")

	r := setupRecipients(t)
	c := r.signup(t)
	c.mailChannel(t, map[string]any{"to": []string{"bob@example.net", "eve@example.net"}})
	r.submit(t, http.StatusOK, "confirm-recipient", url.Values{"token": {r.link(t, "bob@example.net", "confirm-recipient")}})
	r.submit(t, http.StatusOK, "confirm-recipient",
		url.Values{"token": {r.link(t, "eve@example.net", "confirm-recipient")}, "choice": {"stop"}})
	c.audited(t, "recipient.confirm", "recipient.unsubscribe")
}

// audited waits until the audit log has an entry of each action.
func (a person) audited(t *testing.T, actions ...string) {
	t.Helper()
	for _, action := range actions {
		eventually(t, action+" is audited", func() bool {
			for _, row := range a.want(t, http.StatusOK, http.MethodGet, "/v1/audit-log", nil).rows(t) {
				if row["action"] == action {
					return true
				}
			}
			return false
		})
	}
}
