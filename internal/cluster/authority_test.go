// SPDX-License-Identifier: Apache-2.0

//go:build linux

package cluster

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.temporal.io/server/common/api"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
)

// TestRights holds what each role may do against the claim mapper and the authorizer that a cluster has.
func TestRights(t *testing.T) {
	t.Parallel()
	a, err := newAuthority(time.Now, shortLife)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := a.keySet()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "jwks.json")
	if err := os.WriteFile(file, keys, 0o600); err != nil {
		t.Fatal(err)
	}
	settings := &config.Authorization{JWTKeyProvider: config.JWTKeyProvider{KeySourceURIs: []string{"file://" + file}}}
	mapper := authorization.NewDefaultJWTClaimMapper(
		authorization.NewDefaultTokenKeyProvider(settings, log.NewNoopLogger()), settings, log.NewNoopLogger(),
	)
	may := func(t *testing.T, token, method, namespace string) bool {
		t.Helper()
		claims, err := mapper.GetClaims(&authorization.AuthInfo{AuthToken: "Bearer " + token})
		if err != nil {
			t.Fatal(err)
		}
		result, err := authorization.NewDefaultAuthorizer().Authorize(t.Context(), claims, &authorization.CallTarget{
			APIName: method, Namespace: namespace,
		})
		if err != nil {
			t.Fatal(err)
		}
		return result.Decision == authorization.DecisionAllow
	}
	const read, poll, start, setup, list = "DescribeWorkflowExecution", "PollActivityTaskQueue", "StartWorkflowExecution",
		"RegisterNamespace", "ListNamespaces"
	for role, want := range map[string][]string{
		"operator": {read, poll, start, setup}, "reader": {read}, "api": {read, poll, start}, "control": {read, poll, start},
		"worker": {read, poll, start},
	} {
		token, err := a.token(time.Hour, "vigil-"+role, rights()[role])
		if err != nil {
			t.Fatal(err)
		}
		allowed := make(map[string]bool)
		for _, method := range want {
			allowed[method] = true
		}
		for _, method := range []string{read, poll, start, setup, list} {
			full := api.WorkflowServicePrefix + method
			if got := may(t, token, full, namespace); got != allowed[method] {
				t.Errorf("%s may %s: %v, want %v", role, method, got, allowed[method])
			}
			if may(t, token, full, "another") {
				t.Errorf("%s may %s in another namespace", role, method)
			}
		}
	}
	other, err := newAuthority(time.Now, shortLife)
	if err != nil {
		t.Fatal(err)
	}
	token, err := other.token(time.Hour, "vigil-api", rights()["api"])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := mapper.GetClaims(&authorization.AuthInfo{AuthToken: "Bearer " + token}); err == nil {
		t.Error("a token of another key is taken")
	}
}
