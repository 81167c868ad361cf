// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/location"
	"github.com/vigil-monitor/vigil/internal/overview"
	"github.com/vigil-monitor/vigil/internal/subscription"
	"github.com/vigil-monitor/vigil/storage"
)

// limited is a resource whose number plans limit: how one is created, and how the
// store gets n of them at once.
type limited struct {
	kind    account.Limited
	details map[string]any // of the refusal on the free tier
	create  func(*testing.T, *storage.Store) error
	// stock is an SQL statement with the number of rows as its argument.
	stock string
	org   account.Organization
}

// limitedResources returns the limited resources of one organization of the free tier.
func limitedResources(t *testing.T, s *storage.Store) []limited {
	t.Helper()
	org, user := newOrg(t, s)
	c := newCheck(t, s, draft(org.ID, newark))
	channel := storedChannel(t, s, org.ID)
	readers, _ := newOrg(t, s)
	page, err := s.CreateStatusPage(t.Context(), overview.StatusPage{OrgID: readers.ID, Slug: uuid.NewString(), Title: "Acme"})
	if err != nil {
		t.Fatal(err)
	}
	plan := account.PlanOf(account.TierFree, time.Second)
	plan.ExecutionsPerHour = account.Unlimited
	details := func(limit int64) map[string]any {
		return map[string]any{"limit": limit, "current": float64(limit), "requested": 1.0, "tier": "free"}
	}
	return []limited{
		{
			kind: account.LimitChecks, details: details(1000), org: org,
			create: func(t *testing.T, s *storage.Store) error {
				t.Helper()
				_, err := s.CreateCheck(t.Context(), draft(org.ID, newark), plan, account.Allowance{})
				return err
			},
			stock: fmt.Sprintf(`INSERT INTO checks SELECT gen_random_uuid(), org_id, name, type, config, target, interval_ms, regions,
				false, simultaneous, anchor, revision, expires_at, created_at, updated_at FROM checks, generate_series(1, ?) WHERE id = '%s'`, c.ID),
		},
		{
			kind: account.LimitChannels, details: details(20), org: org,
			create: func(t *testing.T, s *storage.Store) error {
				t.Helper()
				_, err := s.CreateChannel(t.Context(), hookChannel(org.ID))
				return err
			},
			stock: fmt.Sprintf(`INSERT INTO channels SELECT gen_random_uuid(), org_id, name, type, config, enabled, disabled_reason,
				created_at, updated_at FROM channels, generate_series(1, ?) WHERE id = '%s'`, channel.ID),
		},
		{
			kind: account.LimitRulesPerCheck, details: details(10), org: org,
			create: func(t *testing.T, s *storage.Store) error {
				t.Helper()
				_, err := ruleNotifying(t, s, c, "down", channel.ID)
				return err
			},
		},
		{
			kind: account.LimitAPIKeys, details: details(20), org: org,
			create: func(t *testing.T, s *storage.Store) error {
				t.Helper()
				id := uuid.New()
				_, err := s.CreateKey(t.Context(), org.ID, user.ID, account.NewKey{Name: "k", Prefix: "vgl_", Hash: id[:]})
				return err
			},
		},
		{
			kind: account.LimitStatusPages, details: details(1), org: org,
			create: func(t *testing.T, s *storage.Store) error {
				t.Helper()
				_, err := s.CreateStatusPage(t.Context(), overview.StatusPage{OrgID: org.ID, Slug: uuid.NewString(), Title: "Acme"})
				return err
			},
		},
		{
			kind: account.LimitMaintenanceWindows, details: details(3), org: org,
			create: func(t *testing.T, s *storage.Store) error {
				t.Helper()
				_, err := s.CreateMaintenanceWindow(t.Context(), windowOf(&c, time.Now().Add(time.Hour), ""))
				return err
			},
		},
		{
			kind: account.LimitSubscriptions, details: details(20), org: org,
			create: func(t *testing.T, s *storage.Store) error {
				t.Helper()
				_, err := s.CreateSubscription(t.Context(), subscription.Subscription{
					OrgID: org.ID, Name: "all", ChannelID: channel.ID, Events: []string{"*"}, Enabled: true,
				})
				return err
			},
		},
		{
			kind: account.LimitSubscribers, details: details(100), org: readers,
			create: func(t *testing.T, s *storage.Store) error {
				t.Helper()
				id := uuid.New() // one who has asked, and confirms
				_, err := s.DB().NewRaw(`INSERT INTO status_page_readers (id, org_id, page_id, type, digest, created_at, asked_at)
					VALUES (?0, ?1, ?2, 'email', sha256(?0::text::bytea), now(), now())`, id, readers.ID, page.ID).Exec(t.Context())
				if err != nil {
					return err
				}
				return s.ConfirmReader(t.Context(), id)
			},
		},
		{
			kind: account.LimitLocations, details: details(1), org: org,
			create: func(t *testing.T, s *storage.Store) error {
				t.Helper()
				_, _, err := s.CreateLocation(t.Context(), location.Location{OrgID: org.ID, Key: "loc-" + uuid.NewString(), Name: "Office"})
				return err
			},
		},
		{
			kind: account.LimitMembers, details: details(3), org: org,
			create: func(t *testing.T, s *storage.Store) error {
				t.Helper()
				_, err := s.CreateInvitation(t.Context(), newInvitation(org, user), account.Credential{}, false)
				return err
			},
		},
	}
}

func TestPlanLimits(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)

	t.Run("OneOfManyConcurrentRequestsGetsTheLastPlace", func(t *testing.T) {
		t.Parallel()
		resources := limitedResources(t, s)
		if len(resources) != len(account.CountLimits()) {
			t.Errorf("%d of %d limits are tested", len(resources), len(account.CountLimits()))
		}
		for _, r := range resources {
			limit := account.TierFree.Limit(r.kind)
			usage, err := s.Usage(t.Context(), r.org.ID)
			if err != nil {
				t.Fatal(err)
			}
			missing := limit - usage.Counts[r.kind] - 1
			if r.stock != "" {
				if _, err := s.DB().NewRaw(r.stock, missing).Exec(t.Context()); err != nil {
					t.Fatal(err)
				}
				missing = 0
			}
			for range missing {
				if err := r.create(t, s); err != nil {
					t.Fatal(err)
				}
			}
			const callers = 8
			errs := make([]error, callers)
			var wg sync.WaitGroup
			for i := range callers {
				wg.Go(func() { errs[i] = r.create(t, s) })
			}
			wg.Wait()
			stored := 0
			for _, err := range errs {
				refused, ok := errors.AsType[*vigil.Error](err)
				switch {
				case err == nil:
					stored++
				case !ok || refused.Code != vigil.CodePlanLimit:
					t.Errorf("%s: %v", r.kind, err)
				default:
					equal(t, refused.Details, r.details)
				}
			}
			if usage, err = s.Usage(t.Context(), r.org.ID); err != nil || stored != 1 || usage.Counts[r.kind] != limit {
				t.Errorf("%s: %d were stored and there are %d, want %d, %v", r.kind, stored, usage.Counts[r.kind], limit, err)
			}
		}
	})

	t.Run("WhatExceedsALowerTierStays", func(t *testing.T) {
		t.Parallel()
		org, _ := newOrg(t, s)
		if err := s.SetTier(t.Context(), org.ID, account.TierPaid); err != nil {
			t.Fatal(err)
		}
		for range 25 {
			storedChannel(t, s, org.ID)
		}
		if err := s.SetTier(t.Context(), org.ID, account.TierFree); err != nil {
			t.Fatal(err)
		}
		_, err := s.CreateChannel(t.Context(), hookChannel(org.ID))
		wantCode(t, err, vigil.CodePlanLimit)
		channels, extent, err := s.Channels(t.Context(), org.ID, listing.ChannelFilter{Page: listing.Page{Limit: 100}})
		if err != nil || extent.Total != 25 || len(channels) != 25 {
			t.Fatalf("%d of %d channels, %v", len(channels), extent.Total, err)
		}
		_, err = s.UpdateChannel(t.Context(), org.ID, channels[0].ID, func(c *vigil.Channel) error {
			c.Name = "renamed"
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestTierLimits(t *testing.T) {
	t.Parallel()
	for kind, want := range map[account.Limited][4]int64{
		account.LimitChecks:        {1_000, 10_000, account.Unlimited, 1_000},
		account.LimitChannels:      {20, 200, 2_000, 20},
		account.LimitRulesPerCheck: {10, 50, 200, 10},
		account.LimitAPIKeys:       {20, 200, 2_000, 20},
	} {
		for i, tier := range []account.Tier{account.TierFree, account.TierPaid, account.TierEnterprise, "unknown"} {
			if got := tier.Limit(kind); got != want[i] {
				t.Errorf("%s of %s: %d, want %d", kind, tier, got, want[i])
			}
		}
	}
}
