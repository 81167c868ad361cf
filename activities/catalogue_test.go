// SPDX-License-Identifier: Apache-2.0

package activities_test

import (
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/activities"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// TestCatalogueOfAWorkerWhoseClockIsWrong tests that a catalogue finds changes by the
// database's clock, which stamps them.
func TestCatalogueOfAWorkerWhoseClockIsWrong(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t)
	_, org, err := store.CreateAccount(
		t.Context(),
		account.Organization{Name: "Acme"},
		account.User{Email: "ada@example.com", Name: "Ada"},
		nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	for name, wrong := range map[string]time.Duration{"Ahead": 10 * time.Minute, "Behind": -10 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check, err := store.CreateCheck(t.Context(), vigil.Check{
				OrgID: org.ID, Name: "home page", Type: vigil.TypeHTTP,
				Config: json.RawMessage(`{"url": "https://example.com/"}`), Target: "example.com",
				Interval: time.Minute, Regions: []string{name}, Enabled: true, Simultaneous: true,
			}, account.PlanOf(account.TierEnterprise, time.Second), account.Allowance{})
			if err != nil {
				t.Fatal(err)
			}
			now := func() time.Time { return time.Now().Add(wrong) }
			catalogue := activities.NewCatalogue(activities.CatalogueOptions{
				Store: store, Parser: &watchFixture{}, Regions: []string{name}, Now: now, Log: slog.New(slog.DiscardHandler),
			})
			if err := catalogue.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			go catalogue.Run(t.Context())
			if n := catalogue.Len(); n != 1 {
				t.Fatalf("%d cached checks", n)
			}
			if _, err := store.DeleteCheck(t.Context(), org.ID, check.ID, nil); err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(20 * time.Second); catalogue.Len() > 0; time.Sleep(20 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the deletion was not seen within 20 s")
				}
			}
		})
	}
}
