// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/storage/storagetest"

	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/platform"
)

// vigilRun runs a command line.
func vigilRun(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, &out, &errs)
	return out.String(), errs.String(), code
}

func TestAdminister(t *testing.T) {
	t.Parallel()
	dsn := storagetest.EmptyDSN(t)
	at := []string{"--database-url", dsn, "--data-dir", t.TempDir()}
	command := func(t *testing.T, args ...string) string {
		t.Helper()
		stdout, stderr, code := vigilRun(t, append(args, at...)...)
		if code != 0 || stderr != "" {
			t.Fatalf("vigil %s ends with %d: %s", strings.Join(args, " "), code, stderr)
		}
		return stdout
	}

	command(t, "migrate")
	if got := command(t, "migrate"); !strings.HasPrefix(got, "0 migrations applied") {
		t.Errorf("a second migrate says %q", got)
	}

	store := storagetest.Open(t, dsn)
	first, err := platform.Bootstrap(t.Context(), store, platform.DefaultKeyName)
	if err != nil || !strings.HasPrefix(first, "vgl_") {
		t.Fatalf("bootstrap gives %q, %v", first, err)
	}
	operator, err := store.Operator(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tierOf := func(t *testing.T) account.Tier {
		t.Helper()
		org, err := store.Organization(t.Context(), operator.OrgID)
		if err != nil {
			t.Fatal(err)
		}
		return org.Tier
	}

	t.Run("BootstrapCreatesOneEnterpriseOrganization", func(t *testing.T) { //nolint:paralleltest // the steps build on each other
		if got := tierOf(t); got != account.TierEnterprise {
			t.Errorf("the operator's organization is %s", got)
		}
		if again, err := platform.Bootstrap(t.Context(), store, platform.DefaultKeyName); again != "" || err != nil {
			t.Errorf("a second bootstrap gives %q, %v", again, err)
		}
	})

	t.Run("KeysCreatePrintsTheKeyAlone", func(t *testing.T) { //nolint:paralleltest // the steps build on each other
		key := strings.TrimSuffix(command(t, "keys", "create", "--name", "deploy"), "\n")
		if !strings.HasPrefix(key, "vgl_") || strings.ContainsAny(key, " \n") || key == first {
			t.Errorf("got %q", key)
		}
		keys, total, err := store.Keys(t.Context(), operator.OrgID, listing.Page{Limit: 10})
		if err != nil || total != 2 || keys[0].Name != "deploy" || !strings.HasPrefix(key, keys[0].Prefix) {
			t.Errorf("stored are %d: %+v, %v", total, keys, err)
		}
	})

	t.Run("KeysCreateForUnknownAccount", func(t *testing.T) { //nolint:paralleltest // the steps build on each other
		_, stderr, code := vigilRun(t, append([]string{"keys", "create", "--email", "unknown@example.com"}, at...)...)
		if code != 1 || stderr != "vigil: there is no account with the address unknown@example.com\n" {
			t.Errorf("ends with %d: %s", code, stderr)
		}
	})

	t.Run("SetTierByIdAndByAddress", func(t *testing.T) { //nolint:paralleltest // the steps build on each other
		command(t, "orgs", "set-tier", operator.OrgID.String(), "free")
		if got := tierOf(t); got != account.TierFree {
			t.Errorf("by id: the tier is %s", got)
		}
		command(t, "orgs", "set-tier", strings.ToUpper(platform.OperatorEmail), "paid")
		if got := tierOf(t); got != account.TierPaid {
			t.Errorf("by address: the tier is %s", got)
		}
	})

	t.Run("TokenOfARegion", func(t *testing.T) { //nolint:paralleltest // the steps build on each other
		token := strings.TrimSpace(command(t, "region", "agent-token", "eu-central-1"))
		if another := strings.TrimSpace(command(t, "region", "agent-token", "eu-central-fra")); !strings.HasPrefix(token, "vga_") ||
			!strings.HasPrefix(another, "vga_") || token == another {
			t.Errorf("the tokens are %q and %q", token, another)
		}
		if listed := command(t, "region", "agent-token"); !strings.Contains(listed, "eu-central-fra") || !strings.Contains(listed, "never") {
			t.Errorf("listed are %s", listed)
		}
		command(t, "region", "agent-token", "eu-central-fra", "--remove")
		for _, words := range [][]string{{"eu-central-fra", "--remove"}, {"loc-office"}, {"--remove"}} {
			if _, stderr, code := vigilRun(t, append(append([]string{"region", "agent-token"}, words...), at...)...); code == 0 {
				t.Errorf("%q is accepted: %s", words, stderr)
			}
		}
	})

	t.Run("SetTierOfUnknownOrganization", func(t *testing.T) { //nolint:paralleltest // the steps build on each other
		for _, named := range []string{"00000000-0000-4000-8000-000000000000", "unknown@example.com"} {
			_, stderr, code := vigilRun(t, append([]string{"orgs", "set-tier", named, "paid"}, at...)...)
			if code != 1 || !strings.Contains(stderr, named) {
				t.Errorf("%s: ends with %d: %s", named, code, stderr)
			}
		}
	})

	t.Run("MigrateDownRollsItBack", func(t *testing.T) { //nolint:paralleltest // the steps build on each other
		command(t, "migrate", "--down")
		if err := store.Ready(t.Context()); vigil.ErrorCode(err) != vigil.CodeUnavailable {
			t.Errorf("the schema is still ready: %v", err)
		}
	})
}
