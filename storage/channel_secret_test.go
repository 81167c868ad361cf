// SPDX-License-Identifier: Apache-2.0

package storage_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/secret"
	"github.com/vigil-monitor/vigil/storage"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// rotations has a webhook whose secret is rotated.
type rotations struct {
	*testing.T
	store *storage.Store
	org   uuid.UUID
	id    uuid.UUID
}

func newRotations(t *testing.T, s *storage.Store) rotations {
	t.Helper()
	org, _ := newOrg(t, s)
	return rotations{t, s, org.ID, storedChannel(t, s, org.ID).ID}
}

func (r rotations) rotate(rotation vigil.SecretRotation) (vigil.Channel, error) {
	return r.store.RotateChannelSecret(r.Context(), r.org, r.id, rotation)
}

func (r rotations) mustRotate(secret string, overlap time.Duration, force bool) vigil.Channel {
	r.Helper()
	channel, err := r.rotate(vigil.SecretRotation{Secret: secret, Overlap: overlap, Force: force})
	if err != nil {
		r.Fatal(err)
	}
	return channel
}

// read returns the channel's secret and the one that was replaced.
func (r rotations) read() (channel vigil.Channel, secret string) {
	r.Helper()
	channel, err := r.store.Channel(r.Context(), r.org, r.id)
	if err != nil {
		r.Fatal(err)
	}
	var config struct{ Secret string }
	if err := json.Unmarshal(channel.Config, &config); err != nil {
		r.Fatal(err)
	}
	return channel, config.Secret
}

// stored returns the former secret as it is stored; empty: none.
func (r rotations) stored() string {
	r.Helper()
	var text string
	err := r.store.DB().NewRaw("SELECT coalesce(former_secret::text, '') FROM channels WHERE id = ?", r.id).Scan(r.Context(), &text)
	if err != nil {
		r.Fatal(err)
	}
	return text
}

// expect compares the secrets that sign the channel's messages.
func (r rotations) expect(what, secret, former string) {
	r.Helper()
	channel, now := r.read()
	if now != secret || channel.FormerSecret != former || (channel.SecretOverlapEndsAt != nil) != (former != "") {
		r.Errorf("%s: signed by %q and %q until %v, want %q and %q", what, now, channel.FormerSecret, channel.SecretOverlapEndsAt, secret, former)
	}
}

func TestRotateChannelSecret(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	r := newRotations(t, s)
	before, _ := r.read()
	after := r.mustRotate("second", time.Hour, false)
	if after.Version != before.Version+1 || after.SecretOverlapEndsAt == nil {
		t.Errorf("rotated to %+v", after)
	}
	r.expect("after a rotation", "second", "hunter2")
	if sealed := r.stored(); !strings.Contains(sealed, `"v1:`) || strings.Contains(sealed, "hunter2") {
		t.Errorf("the former secret is stored as %s", sealed)
	}
	_, err := r.rotate(vigil.SecretRotation{Secret: "third", Overlap: time.Hour})
	if vigil.ErrorCode(err) != vigil.CodeConflict {
		t.Errorf("a rotation within the overlap: %v", err)
	}
	r.expect("after a refused rotation", "second", "hunter2")
	r.mustRotate("third", time.Hour, true)
	r.expect("after a forced rotation", "third", "second")
	_, err = s.UpdateChannel(t.Context(), r.org, r.id, func(c *vigil.Channel) error {
		c.Name = "another"
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r.expect("after another name", "third", "second")
	r.mustRotate("fourth", 0, true)
	r.expect("after a rotation without an overlap", "fourth", "")
	if left := r.stored(); left != "" {
		t.Errorf("the former secret is stored as %s", left)
	}
	if _, err := s.RotateChannelSecret(
		t.Context(),
		uuid.New(),
		r.id,
		vigil.SecretRotation{Secret: "x"},
	); vigil.ErrorCode(
		err,
	) != vigil.CodeNotFound {
		t.Errorf("a rotation by another organization: %v", err)
	}
}

// TestSecretOverlapEnds tests what ends an overlap: a written secret, another receiver, and time.
func TestSecretOverlapEnds(t *testing.T) {
	t.Parallel()
	s, clock := newStore(t)
	r := newRotations(t, s)
	write := func(from, to string) {
		t.Helper()
		_, err := s.UpdateChannel(t.Context(), r.org, r.id, func(c *vigil.Channel) error {
			c.Config = json.RawMessage(strings.ReplaceAll(string(c.Config), from, to))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	r.mustRotate("second", time.Hour, false)
	write("https://hooks.example.com/", "https://hooks.example.com/other")
	r.expect("after another path", "second", "hunter2")
	write("second", "written")
	r.expect("after a written secret", "written", "")
	r.mustRotate("third", time.Hour, false)
	write("hooks.example.com", "hooks.example.net")
	r.expect("after another receiver", "third", "")
	r.mustRotate("fourth", time.Hour, false)
	clock.Set(clock.Now().Add(time.Hour - time.Second))
	r.expect("before the end", "fourth", "third")
	erase := func() {
		t.Helper()
		if err := s.DropExpired(t.Context(), clock.Now(), storage.DefaultRetention()); err != nil {
			t.Fatal(err)
		}
	}
	erase()
	r.expect("before the end, after the housekeeping", "fourth", "third")
	version, _ := r.read()
	clock.Set(clock.Now().Add(3 * time.Second))
	r.expect("after the end", "fourth", "")
	if r.stored() == "" {
		t.Error("the former secret was erased before the housekeeping")
	}
	erase()
	if left := r.stored(); left != "" {
		t.Errorf("after the housekeeping the former secret is stored as %s", left)
	}
	if now, _ := r.read(); now.Version != version.Version {
		t.Errorf("the end made version %d of %d", now.Version, version.Version)
	}
	r.mustRotate("fifth", time.Hour, false) // without force
	r.expect("after the end and a rotation", "fifth", "fourth")
}

// TestResealFormerSecret tests that a former secret is sealed under a new key with the others.
func TestResealFormerSecret(t *testing.T) {
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
	r := newRotations(t, open(older))
	r.mustRotate("second", time.Hour, false)
	if n, err := open(newer, older).Reseal(t.Context()); n != 2 || err != nil {
		t.Fatalf("%d changed (%v)", n, err)
	}
	r.store = open(newer)
	r.expect("under another key", "second", "hunter2")
}
