// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestReservedAddresses holds that no request makes an account with an address of the
// operator's domain, or asks for one.
func TestReservedAddresses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	for _, address := range []string{
		"operator@vigil.invalid", "Operator@Vigil.INVALID", "ada@vigil.invalid", "operator@vigil.invalid.", "ada@mail.vigil.invalid",
	} {
		for _, request := range []struct {
			method, path, member string
			body                 map[string]any
		}{
			{http.MethodPost, "/v1/auth/signup", "email", map[string]any{"password": "long enough", "name": "Eve", "organization_name": "Eve"}},
			{http.MethodPost, "/v1/auth/quick-signup", "email", map[string]any{"org_name": "Eve"}},
			{http.MethodPut, "/v1/auth/email", "new_email", map[string]any{}},
			{http.MethodPost, "/v1/invitations", "email", map[string]any{"role": "viewer"}},
		} {
			request.body[request.member] = address
			r := a.want(t, http.StatusBadRequest, request.method, request.path, request.body)
			if r.body["code"] != "invalid_request" || !strings.Contains(r.problem(), request.member) {
				t.Errorf("%s with %s: %s", request.path, address, r.raw)
			}
		}
	}
	// One that only looks like it is an address as any other.
	b.want(t, http.StatusCreated, http.MethodPost, "/v1/auth/quick-signup", map[string]any{"email": "ada@notvigil.invalid"})
}
