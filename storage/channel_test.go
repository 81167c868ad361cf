// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/listing"
	"github.com/vigil-monitor/vigil/internal/secret"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

const hook = `{"url": "https://hooks.example.com/", "secret": "hunter2", "headers": {"Authorization": "Bearer hunter3", "X-Team": "shop"}}`

// hookChannel is a webhook, not stored yet.
func hookChannel(org uuid.UUID) vigil.Channel {
	return vigil.Channel{OrgID: org, Name: "hook", Type: vigil.ChannelWebhook, Config: json.RawMessage(hook), Enabled: true}
}

// storedChannel stores a webhook.
func storedChannel(tb testing.TB, s *storage.Store, org uuid.UUID) vigil.Channel {
	tb.Helper()
	channel, err := s.CreateChannel(tb.Context(), hookChannel(org))
	if err != nil {
		tb.Fatal(err)
	}
	return channel
}

// ruleNotifying stores a rule that notifies the given channels.
func ruleNotifying(tb testing.TB, s *storage.Store, check vigil.Check, name string, channels ...uuid.UUID) (vigil.Rule, error) {
	tb.Helper()
	return s.CreateRule(tb.Context(), vigil.Rule{
		OrgID:     check.OrgID,
		CheckID:   check.ID,
		Name:      name,
		Condition: vigil.Condition{FailureThreshold: 1, Severity: vigil.Critical},
		Channels:  channels,
		NotifyOn:  vigil.NotifyUnhealthy,
		Policy:    vigil.AnyRegion,
		Enabled:   true,
	})
}

func TestChannel(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	org, _ := newOrg(t, s)
	other, _ := newOrg(t, s)

	t.Run("IsReadAsItWasWritten", func(t *testing.T) {
		t.Parallel()
		made := storedChannel(t, s, org.ID)
		if made.ID == uuid.Nil || made.CreatedAt.IsZero() || !made.Enabled {
			t.Fatalf("got %+v", made)
		}
		got, err := s.Channel(t.Context(), org.ID, made.ID)
		if err != nil || got.Name != "hook" || got.Type != vigil.ChannelWebhook || !got.Enabled || !got.CreatedAt.Equal(made.CreatedAt) ||
			!strings.Contains(string(got.Config), "hunter2") || !strings.Contains(string(got.Config), "hunter3") {
			t.Errorf("got %+v, %v", got, err)
		}
	})

	t.Run("ItsSecretsRestSealed", func(t *testing.T) {
		t.Parallel()
		made := storedChannel(t, s, org.ID)
		var atRest string
		if err := s.DB().NewRaw("SELECT config::text FROM channels WHERE id = ?", made.ID).Scan(t.Context(), &atRest); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(atRest, "hunter") || strings.Count(atRest, "v1:") != 2 {
			t.Errorf("at rest: %s", atRest)
		}
	})

	t.Run("BelongsToItsOrganization", func(t *testing.T) {
		t.Parallel()
		made := storedChannel(t, s, org.ID)
		_, err := s.Channel(t.Context(), other.ID, made.ID)
		_, errUpdate := s.UpdateChannel(t.Context(), other.ID, made.ID, func(*vigil.Channel) error { return nil })
		_, errDelete := s.DeleteChannel(t.Context(), other.ID, made.ID, true, nil)
		for _, err := range []error{err, errUpdate, errDelete} {
			if vigil.ErrorCode(err) != vigil.CodeNotFound || vigil.ErrorMessage(err) != "channel not found" {
				t.Errorf("got %v", err)
			}
		}
		found, err := s.ChannelsByID(t.Context(), other.ID, []uuid.UUID{made.ID})
		if err != nil || len(found) != 0 {
			t.Errorf("got %v, %v", found, err)
		}
	})
}

func TestUpdateChannel(t *testing.T) {
	t.Parallel()
	s, clock := newStore(t)
	org, _ := newOrg(t, s)
	other, _ := newOrg(t, s)

	t.Run("OnlyNameConfigAndEnabledChange", func(t *testing.T) {
		t.Parallel()
		made := storedChannel(t, s, org.ID)
		clock.Set(epoch().Add(time.Minute))
		after, err := s.UpdateChannel(t.Context(), org.ID, made.ID, func(c *vigil.Channel) error {
			c.ID, c.OrgID, c.Type, c.CreatedAt, c.DisabledReason = uuid.New(), other.ID, vigil.ChannelChat, time.Time{}, "why not"
			c.Name, c.Enabled, c.Config = "other hook", false, json.RawMessage(`{"url": "https://b.example.com", "secret": "hunter4"}`)
			return nil
		})
		if err != nil || after.ID != made.ID || after.OrgID != org.ID || after.Type != vigil.ChannelWebhook || after.DisabledReason != "" ||
			after.Name != "other hook" || after.Enabled || after.UpdatedAt.Equal(made.UpdatedAt) {
			t.Errorf("got %+v, %v", after, err)
		}
		got, err := s.Channel(t.Context(), org.ID, made.ID)
		if err != nil || got.Name != "other hook" || !strings.Contains(string(got.Config), "hunter4") || !got.CreatedAt.Equal(made.CreatedAt) {
			t.Errorf("got %+v, %v", got, err)
		}
		again, err := s.UpdateChannel(t.Context(), org.ID, made.ID, func(*vigil.Channel) error { return nil })
		if err != nil || !again.UpdatedAt.Equal(after.UpdatedAt) {
			t.Errorf("a change of nothing: %+v, %v", again, err)
		}
		refusal := errors.New("no")
		if _, err := s.UpdateChannel(t.Context(), org.ID, made.ID, func(*vigil.Channel) error { return refusal }); !errors.Is(err, refusal) {
			t.Errorf("got %v", err)
		}
	})

	t.Run("ThePlatformDisablesItOnce", func(t *testing.T) {
		t.Parallel()
		made := storedChannel(t, s, org.ID)
		for i, want := range []bool{true, false} {
			if did, err := s.DisableChannel(t.Context(), made.ID, "the receiver is gone"); did != want || err != nil {
				t.Errorf("%d: %t, %v", i, did, err)
			}
		}
		if did, err := s.DisableChannel(t.Context(), uuid.New(), "gone"); did || err != nil {
			t.Errorf("one that never was: %t, %v", did, err)
		}
		got, err := s.Channel(t.Context(), org.ID, made.ID)
		if err != nil || got.Enabled || got.DisabledReason != "the receiver is gone" {
			t.Errorf("got %+v, %v", got, err)
		}
		got, err = s.UpdateChannel(t.Context(), org.ID, made.ID, func(c *vigil.Channel) error {
			c.Enabled = true
			return nil
		})
		if err != nil || !got.Enabled || got.DisabledReason != "" {
			t.Errorf("got %+v, %v", got, err)
		}
	})

	t.Run("WhatPostgresCannotHoldIsTheCallersMistake", func(t *testing.T) {
		t.Parallel()
		evil := hookChannel(org.ID)
		evil.Config = json.RawMessage(`{"url": "https://hooks.example.com/\u0000"}`)
		if _, err := s.CreateChannel(t.Context(), evil); vigil.ErrorCode(err) != vigil.CodeInvalid {
			t.Errorf("got %v", err)
		}
	})
}

func TestChannels(t *testing.T) {
	t.Parallel()
	s, clock := newStore(t)
	org, _ := newOrg(t, s)
	var ids []uuid.UUID
	for i := range 3 {
		clock.Set(epoch().Add(time.Duration(i) * time.Second))
		ids = append(ids, storedChannel(t, s, org.ID).ID)
	}

	got, extent, err := s.Channels(t.Context(), org.ID, listing.ChannelFilter{Page: listing.Page{Limit: 2, Offset: 1}})
	if err != nil || extent.Total != 3 || len(got) != 2 || got[0].ID != ids[1] || got[1].ID != ids[0] {
		t.Errorf("got %v, %d, %v", got, extent.Total, err)
	}
	got, err = s.ChannelsByID(t.Context(), org.ID, []uuid.UUID{ids[2], uuid.New(), ids[0]})
	if err != nil || len(got) != 2 || got[0].ID != ids[2] || got[1].ID != ids[0] {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err = s.ChannelsByID(t.Context(), org.ID, nil); err != nil || len(got) != 0 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestDeleteChannel(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)

	t.Run("RulesThatUseItAreNamed", func(t *testing.T) {
		t.Parallel()
		org, _ := newOrg(t, s)
		check := newCheck(t, s, draft(org.ID, newark))
		channel := storedChannel(t, s, org.ID)
		for _, name := range []string{"b", "a", "c", "d", "e", "f", "g"} {
			if _, err := ruleNotifying(t, s, check, name, channel.ID); err != nil {
				t.Fatal(err)
			}
		}
		_, err := s.DeleteChannel(t.Context(), org.ID, channel.ID, false, nil)
		refused, ok := errors.AsType[*vigil.Error](err)
		if !ok || refused.Code != vigil.CodeConflict || !strings.Contains(refused.Message, "a, b, c, d, e and 2 more") ||
			!strings.Contains(refused.Message, "?force=true") {
			t.Fatalf("got %v", err)
		}
		if names, _ := refused.Details["rules"].([]string); len(names) != 7 {
			t.Errorf("details: %v", refused.Details)
		}
		if _, err := s.Channel(t.Context(), org.ID, channel.ID); err != nil {
			t.Errorf("it is gone: %v", err)
		}
	})

	t.Run("ForceTakesItOutOfThemAndDeletesThoseLeftWithNone", func(t *testing.T) {
		t.Parallel()
		org, _ := newOrg(t, s)
		check, untouched := newCheck(t, s, draft(org.ID, newark)), newCheck(t, s, draft(org.ID, newark))
		channel, rest := storedChannel(t, s, org.ID), storedChannel(t, s, org.ID)
		alone, err := ruleNotifying(t, s, check, "alone", channel.ID)
		if err != nil {
			t.Fatal(err)
		}
		both, err := ruleNotifying(t, s, check, "both", channel.ID, rest.ID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ruleNotifying(t, s, untouched, "other", rest.ID); err != nil {
			t.Fatal(err)
		}
		before, err := s.Check(t.Context(), org.ID, check.ID)
		if err != nil {
			t.Fatal(err)
		}
		checks, err := s.DeleteChannel(t.Context(), org.ID, channel.ID, true, nil)
		if err != nil || !slices.Equal(checks, []uuid.UUID{check.ID}) {
			t.Fatalf("got %v, %v", checks, err)
		}
		if _, err := s.Rule(t.Context(), org.ID, check.ID, alone.ID); vigil.ErrorCode(err) != vigil.CodeNotFound {
			t.Errorf("the rule without a channel: %v", err)
		}
		got, err := s.Rule(t.Context(), org.ID, check.ID, both.ID)
		if err != nil || !slices.Equal(got.Channels, []uuid.UUID{rest.ID}) {
			t.Errorf("got %+v, %v", got, err)
		}
		if after, err := s.Check(t.Context(), org.ID, check.ID); err != nil || after.Revision != before.Revision+1 {
			t.Errorf("revision %d after %d, %v", after.Revision, before.Revision, err)
		}
	})
}

func TestDeleteUnusedChannel(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)

	t.Run("OneWithoutRulesIsDeletedOnce", func(t *testing.T) {
		t.Parallel()
		org, _ := newOrg(t, s)
		channel := storedChannel(t, s, org.ID)
		if _, err := s.DeleteChannel(t.Context(), org.ID, channel.ID, false, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := s.DeleteChannel(t.Context(), org.ID, channel.ID, false, nil); vigil.ErrorCode(err) != vigil.CodeNotFound {
			t.Errorf("got %v", err)
		}
	})

	// However they meet, no rule is left that notifies a deleted channel.
	t.Run("RulesThatComeMeanwhileNotifyNoDeletedChannel", func(t *testing.T) {
		t.Parallel()
		org, _ := newOrg(t, s)
		check := newCheck(t, s, draft(org.ID, newark))
		for round := range 25 {
			channel := storedChannel(t, s, org.ID)
			var group sync.WaitGroup
			for range 4 {
				group.Go(func() {
					if _, err := ruleNotifying(t, s, check, "late", channel.ID); err != nil && vigil.ErrorCode(err) != vigil.CodeInvalid {
						t.Errorf("rule: %v", err)
					}
				})
			}
			for _, force := range []bool{true, round%2 == 0} {
				group.Go(func() {
					_, err := s.DeleteChannel(t.Context(), org.ID, channel.ID, force, nil)
					if code := vigil.ErrorCode(err); err != nil && code != vigil.CodeConflict && code != vigil.CodeNotFound {
						t.Errorf("delete: %v", err)
					}
				})
			}
			group.Wait()
		}
		var dangling int
		err := s.DB().NewRaw(`SELECT count(*) FROM alert_rules AS r, unnest(r.channel_ids) AS used
			WHERE r.check_id = ? AND NOT EXISTS (SELECT FROM channels WHERE id = used)`, check.ID).Scan(t.Context(), &dangling)
		if err != nil || dangling != 0 {
			t.Errorf("%d rules tell a channel that is gone, %v", dangling, err)
		}
	})
}

// TestResealChannels changes the key for secrets while channels are there.
func TestResealChannels(t *testing.T) {
	t.Parallel()
	older, newer := bytes.Repeat([]byte{1}, 32), bytes.Repeat([]byte{2}, 32)
	dsn := storagetest.DSN(t)
	open := func(current []byte, rest ...[]byte) *storage.Store {
		keys, err := secret.NewKeyring(current, rest...)
		if err != nil {
			t.Fatal(err)
		}
		return storagetest.Open(t, dsn, func(o *storage.Options) { o.Keys = keys })
	}
	before := open(older)
	org, _ := newOrg(t, before)
	channel := storedChannel(t, before, org.ID)
	if n, err := open(newer, older).Reseal(t.Context()); n != 1 || err != nil {
		t.Fatalf("%d changed, %v", n, err)
	}
	got, err := open(newer).Channel(t.Context(), org.ID, channel.ID)
	if err != nil || !strings.Contains(string(got.Config), "hunter2") {
		t.Errorf("got %+v, %v", got, err)
	}
}
