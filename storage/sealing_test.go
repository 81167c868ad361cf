// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/secret"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// headersByName are the secret members of a version that seals every header
// whose name says that it is a credential.
func headersByName() secret.Configs {
	fields := secret.Fields{Members: map[string]secret.Fields{
		"headers": {ByName: true}, "secret": {Secret: true},
		"basic_auth": {Members: map[string]secret.Fields{"password": {Secret: true}}},
	}}
	return secret.Configs{
		Checks:   map[vigil.CheckType]secret.Fields{vigil.TypeHTTPS: fields},
		Channels: map[vigil.ChannelType]secret.Fields{vigil.ChannelWebhook: fields},
	}
}

// TestSealConfigs starts on rows of a version to which fewer members were secret.
func TestSealConfigs(t *testing.T) {
	t.Parallel()
	dsn := storagetest.DSN(t)
	open := func(secrets secret.Configs) *storage.Store {
		return storagetest.Open(t, dsn, func(o *storage.Options) { o.Secrets = secrets })
	}
	older := headersByName()
	onlyPasswords := secret.Fields{Members: map[string]secret.Fields{
		"basic_auth": {Members: map[string]secret.Fields{"password": {Secret: true}}},
	}}
	older.Checks[vigil.TypeHTTPS], older.Channels[vigil.ChannelWebhook] = onlyPasswords, onlyPasswords
	before, store := open(older), open(headersByName())
	org, _ := newOrg(t, before)

	const config = `{"url": "https://example.com/%d", "headers": {"X-Auth-Token": "hunter3", "Accept": "*/*"}, ` +
		`"basic_auth": {"username": "ada", "password": "hunter2"}}`
	stored := make(map[uuid.UUID]vigil.Check)
	for i := range 3 {
		one := draft(org.ID, newark)
		one.Type = vigil.TypeHTTPS
		one.Config = json.RawMessage(fmt.Sprintf(config, i))
		one = newCheck(t, before, one)
		stored[one.ID] = one
	}
	plain := newCheck(t, before, draft(org.ID, newark))
	channel, err := before.CreateChannel(t.Context(), vigil.Channel{
		OrgID: org.ID, Name: "hook", Type: vigil.ChannelWebhook, Enabled: true,
		Config: json.RawMessage(`{"url": "https://example.com/", "secret": "hunter4", "headers": {"X-Signature": "hunter5"}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	atRest := func() string {
		var texts []string
		err := store.DB().NewRaw("SELECT config::text FROM checks UNION ALL SELECT config::text FROM channels").Scan(t.Context(), &texts)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(texts, "\n")
	}
	if text := atRest(); strings.Count(text, "hunter3") != 3 || strings.Contains(text, "hunter2") {
		t.Fatalf("the rows are not of the old form: %s", text)
	}
	readable := func(what string) {
		t.Helper()
		for id, want := range stored {
			got, err := store.Check(t.Context(), org.ID, id)
			if err != nil || !strings.Contains(string(got.Config), "hunter2") || !strings.Contains(string(got.Config), "hunter3") ||
				got.Revision != want.Revision {
				t.Errorf("%s: check %+v (%v)", what, got, err)
			}
		}
		got, err := store.Channel(t.Context(), org.ID, channel.ID)
		if err != nil || !strings.Contains(string(got.Config), "hunter4") || !strings.Contains(string(got.Config), "hunter5") {
			t.Errorf("%s: channel %+v (%v)", what, got, err)
		}
	}

	readable("in clear")
	if n, err := store.SealConfigs(t.Context()); n != 4 || err != nil {
		t.Fatalf("%d changed (%v)", n, err)
	}
	if text := atRest(); strings.Contains(text, "hunter") || !strings.Contains(text, `"*/*"`) {
		t.Errorf("in clear at rest: %s", text)
	}
	readable("sealed")
	got, err := store.Check(t.Context(), org.ID, plain.ID)
	if err != nil || string(got.Config) != string(plain.Config) && !strings.Contains(string(got.Config), "url") {
		t.Errorf("a config without secrets: %+v (%v)", got, err)
	}

	// A row that is put back into the old form shows whether the step runs again.
	reset := func() {
		t.Helper()
		if _, err := store.DB().NewRaw(`UPDATE channels SET config = jsonb_set(config, '{secret}', '"hunter4"')`).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	reset()
	if n, err := store.SealConfigs(t.Context()); n != 0 || err != nil {
		t.Errorf("the recorded step runs again: %d changed (%v)", n, err)
	}
	if n, err := before.SealConfigs(t.Context()); n != 0 || err != nil {
		t.Errorf("for fewer members: %d changed (%v)", n, err)
	}
	if n, err := store.SealConfigs(t.Context()); n != 1 || err != nil {
		t.Errorf("after a version of fewer members ran: %d changed (%v)", n, err)
	}
	readable("sealed again")
}

// TestSealConfigsGoesThroughAllBatches has more rows than are read at once.
func TestSealConfigsGoesThroughAllBatches(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t, func(o *storage.Options) { o.Secrets = headersByName() })
	org, _ := newOrg(t, store)
	_, err := store.DB().NewRaw(`INSERT INTO channels (id, org_id, name, type, config, enabled, disabled_reason, created_at, updated_at)
		SELECT gen_random_uuid(), ?, 'c' || n, 'webhook', jsonb_build_object('secret', 'hunter' || n), true, '', now(), now()
		FROM generate_series(1, 250) AS n`, org.ID).Exec(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n, err := store.SealConfigs(t.Context()); n != 250 || err != nil {
		t.Errorf("%d changed (%v)", n, err)
	}
	var clear int
	err = store.DB().NewRaw("SELECT count(*) FROM channels WHERE config::text LIKE '%hunter%'").Scan(t.Context(), &clear)
	if err != nil || clear != 0 {
		t.Errorf("%d in clear (%v)", clear, err)
	}
}

func TestSealConfigsNeedsKeys(t *testing.T) {
	t.Parallel()
	store := storagetest.New(t, func(o *storage.Options) { o.Keys = nil })
	if _, err := store.SealConfigs(t.Context()); err == nil || !strings.Contains(err.Error(), "keys") {
		t.Errorf("got %v", err)
	}
}
