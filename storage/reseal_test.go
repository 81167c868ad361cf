// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/secret"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// TestReseal changes the key for secrets while checks and channels are there.
func TestReseal(t *testing.T) {
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
	secret := draft(org.ID, newark)
	secret.Config = json.RawMessage(`{"url": "https://example.com/", "basic_auth": {"username": "ada", "password": "hunter2"}}`)
	secret = newCheck(t, before, secret)
	newCheck(t, before, draft(org.ID, newark))
	channel, err := before.CreateChannel(t.Context(), vigil.Channel{
		OrgID:   org.ID,
		Name:    "hook",
		Type:    "webhook",
		Config:  json.RawMessage(`{"url": "https://example.com/", "secret": "hunter3"}`),
		Enabled: true,
	})
	if err != nil {
		t.Fatal(err)
	}

	key, err := before.CreatePingKey(t.Context(), org.ID)
	if err != nil {
		t.Fatal(err)
	}

	rotating := open(newer, older)
	if n, err := rotating.Reseal(t.Context()); n != 3 || err != nil {
		t.Fatalf("%d changed (%v)", n, err)
	}
	after := open(newer)
	got, err := after.Check(t.Context(), org.ID, secret.ID)
	if err != nil || !strings.Contains(string(got.Config), "hunter2") || got.Revision != secret.Revision {
		t.Errorf("check %+v (%v)", got, err)
	}
	hook, err := after.Channel(t.Context(), org.ID, channel.ID)
	if err != nil || !strings.Contains(string(hook.Config), "hunter3") {
		t.Errorf("channel %+v (%v)", hook, err)
	}
	if read, err := after.PingKey(t.Context(), org.ID); err != nil || read.Key != key.Key {
		t.Errorf("ping key %+v (%v)", read, err)
	}
	if _, err := before.Check(t.Context(), org.ID, secret.ID); err == nil {
		t.Error("the older key still opens it")
	}
}
