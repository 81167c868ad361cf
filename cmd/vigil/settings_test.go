// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/storage"

	"github.com/vigil-monitor/vigil/internal/platform"
)

// settingsOf reads the settings of a command line; the environment has none.
func settingsOf(t *testing.T, args ...string) platform.Settings {
	t.Helper()
	var read platform.Settings
	cmd := &cobra.Command{
		Use: "test", SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			read, err = readSettings(cmd)
			return err
		},
	}
	addSettings(cmd.Flags())
	cmd.SetArgs(append([]string{"--data-dir", t.TempDir()}, args...))
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	return read
}

func TestSettings(t *testing.T) {
	t.Parallel()

	t.Run("DefaultsAreThoseOfTheHelp", func(t *testing.T) {
		t.Parallel()
		s := settingsOf(t)
		if s.Listen != "127.0.0.1:8080" || s.TemporalListen != "127.0.0.1:7233" || s.UIListen != "127.0.0.1:8233" {
			t.Errorf("listens at %s, Temporal at %s, its UI at %s", s.Listen, s.TemporalListen, s.UIListen)
		}
		if len(s.Regions) != 33 || s.QuietWindow != 6*time.Hour || s.TemporalRetention != 72*time.Hour ||
			s.SignupTier != "free" {
			t.Errorf("got %+v", s)
		}
		if s.EnterpriseMinInterval != time.Second || s.ResultRetention != 90*24*time.Hour || s.TemporalNamespace != "vigil" {
			t.Errorf("got %+v", s)
		}
		if s.PublicURL != "http://127.0.0.1:8080" || s.SecretKeys != nil || s.AllowedPrivateCIDRs != nil {
			t.Errorf("got %+v", s)
		}
	})

	t.Run("Canaries", func(t *testing.T) {
		t.Parallel()
		if got := settingsOf(t).Canaries; !slices.Equal(got, []string{"1.1.1.1:53", "8.8.8.8:53", "9.9.9.9:53"}) {
			t.Errorf("by default %v", got)
		}
		for _, off := range []string{"--canaries=", "--canaries=off"} {
			if got := settingsOf(t, off).Canaries; got != nil {
				t.Errorf("%s: %v", off, got)
			}
		}
		want := []string{"gateway.example:443", "[2606:4700:4700::1111]:53"}
		given := "--canaries=gateway.example:443, [2606:4700:4700::1111]:53,gateway.example:443"
		if got := settingsOf(t, given).Canaries; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		for _, wrong := range []string{
			"1.1.1.1", "1.1.1.1:53,9.9.9.9", "1.1.1.1:0", "1.1.1.1:dns", ":53", "https://a.example:443", "1.1.1.1:53,,",
		} {
			_, err := platform.ParseSettings(map[string]string{"VIGIL_CANARIES": wrong})
			if err == nil || !strings.Contains(err.Error(), "VIGIL_CANARIES (--canaries) holds") {
				t.Errorf("%s: %v", wrong, err)
			}
		}
	})

	t.Run("RetentionIsBounded", func(t *testing.T) {
		t.Parallel()
		s := settingsOf(t)
		if got := s.Retention(); got != storage.DefaultRetention() {
			t.Errorf("retention by default: %+v, want %+v", got, storage.DefaultRetention())
		}
		const day = 24 * time.Hour
		s = settingsOf(t, "--result-retention=2d", "--rollup-retention=3d", "--event-retention=2h", "--attempt-retention=8d",
			"--incident-retention=9d", "--audit-retention=4d")
		if got := s.Retention(); got.Results != 2*day || got.Rollups != 3*day || got.Events != 2*time.Hour || got.Attempts != 8*day ||
			got.Incidents != 9*day || got.Audit != 4*day ||
			got.Leases == 0 ||
			got.Tombstones == 0 {
			t.Errorf("retention of the settings: %+v", got)
		}
	})

	t.Run("IsLocalWhenOnlyThisMachineReachesTheAPI", func(t *testing.T) {
		t.Parallel()
		for args, local := range map[string]bool{
			"": true, "--listen=localhost:80": true, "--listen=[::1]:80": true, "--public-url=http://localhost:9000": true,
			"--listen=0.0.0.0:80": false, "--listen=:80": false, "--listen=10.0.0.1:80": false,
			"--public-url=https://vigil.example.com": false, "--trusted-proxies=127.0.0.1": false,
		} {
			if s := settingsOf(t, strings.Fields(args)...); s.Local() != local {
				t.Errorf("%s: local is %v", args, s.Local())
			}
		}
	})

	t.Run("RegionsTakeCloudNamesAndCollapse", func(t *testing.T) {
		t.Parallel()
		s := settingsOf(t, "--regions", "us-east-1, eu-central-fra,europe-west3,na-east-ewr")
		if !slices.Equal(s.Regions, []string{"na-east-ewr", "eu-central-fra"}) {
			t.Errorf("got %v", s.Regions)
		}
	})

	t.Run("PrimaryRegionsAreSix", func(t *testing.T) {
		t.Parallel()
		if s := settingsOf(t, "--regions", "primary"); len(s.Regions) != 6 || !slices.Contains(s.Regions, "af-south-jnb") {
			t.Errorf("got %v", s.Regions)
		}
	})

	t.Run("CIDRsAndSingleAddresses", func(t *testing.T) {
		t.Parallel()
		s := settingsOf(t, "--allowed-private-cidrs", "10.0.0.0/8, fd00::/8,192.168.1.7")
		want := []netip.Prefix{
			netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("192.168.1.7/32"),
		}
		if !slices.Equal(s.AllowedPrivateCIDRs, want) {
			t.Errorf("got %v", s.AllowedPrivateCIDRs)
		}
	})

	t.Run("SecretKeysInBothForms", func(t *testing.T) {
		t.Parallel()
		s := settingsOf(t, "--secret-key", strings.Repeat("ab", 32)+",AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
		if len(s.SecretKeys) != 2 || s.SecretKeys[0][0] != 0xab || s.SecretKeys[1][31] != 31 {
			t.Errorf("got %v", s.SecretKeys)
		}
	})

	t.Run("AnOriginIsLowerCaseWithoutASlash", func(t *testing.T) {
		t.Parallel()
		s := settingsOf(t, "--temporal-ui-origin", "HTTPS://Temporal.Example.com:8233/")
		if s.TemporalUIOrigin != "https://temporal.example.com:8233" {
			t.Errorf("got %s", s.TemporalUIOrigin)
		}
	})

	t.Run("PublicURLLosesItsSlash", func(t *testing.T) {
		t.Parallel()
		if s := settingsOf(t, "--public-url", "https://vigil.example.com/at/"); s.PublicURL != "https://vigil.example.com/at" {
			t.Errorf("got %s", s.PublicURL)
		}
	})
}

func TestHostPort(t *testing.T) {
	t.Parallel()
	tests := []struct {
		listen    platform.HostPort
		loopback  bool
		reachable string
	}{
		{"127.0.0.1:8080", true, "127.0.0.1:8080"},
		{"127.8.8.8:1", true, "127.8.8.8:1"},
		{"[::1]:8080", true, "[::1]:8080"},
		{"[::ffff:127.0.0.1]:8080", true, "[::ffff:127.0.0.1]:8080"},
		{"localhost:8080", true, "localhost:8080"},
		{":8080", false, "127.0.0.1:8080"},
		{"0.0.0.0:8080", false, "127.0.0.1:8080"},
		{"[::]:8080", false, "127.0.0.1:8080"},
		{"10.0.0.7:8080", false, "10.0.0.7:8080"},
		{"vigil.example.com:8080", false, "vigil.example.com:8080"},
	}
	for _, tt := range tests {
		if got := tt.listen.Loopback(); got != tt.loopback {
			t.Errorf("%s is loopback: %t", tt.listen, got)
		}
		if got := tt.listen.Reachable(); got != tt.reachable {
			t.Errorf("%s is reached at %s, want %s", tt.listen, got, tt.reachable)
		}
	}
}

// memory stores secrets for one test.
type memory map[string]string

func (m memory) Secret(name string, size int) (string, error) {
	if m[name] == "" {
		m[name] = strings.Repeat("5a", size)
	}
	return m[name], nil
}

func TestOpenSecrets(t *testing.T) {
	t.Parallel()

	t.Run("GeneratedKeyIsKeptAndUsed", func(t *testing.T) {
		t.Parallel()
		dir := memory{}
		first, err := platform.OpenSecrets(&platform.Settings{}, dir)
		if err != nil {
			t.Fatal(err)
		}
		again, err := platform.OpenSecrets(&platform.Settings{}, dir)
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := first.Keyring.Seal("plain")
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := again.Keyring.Open(sealed); err != nil || plain != "plain" {
			t.Errorf("the second start reads %q, %v", plain, err)
		}
		if !bytes.Equal(first.Signing, again.Signing) || len(first.Signing) < 32 {
			t.Errorf("signing keys %x and %x", first.Signing, again.Signing)
		}
		if stored, _ := hex.DecodeString(dir[platform.SecretKeyFile]); bytes.Equal(stored, first.Signing) {
			t.Error("tokens are signed with the key that seals secrets")
		}
	})

	t.Run("RotatedKeyStillOpens", func(t *testing.T) {
		t.Parallel()
		before := &platform.Settings{SecretKeys: platform.SecretKeys{bytes.Repeat([]byte{1}, 32)}}
		after := &platform.Settings{SecretKeys: platform.SecretKeys{bytes.Repeat([]byte{2}, 32), bytes.Repeat([]byte{1}, 32)}}
		old, err := platform.OpenSecrets(before, nil)
		if err != nil {
			t.Fatal(err)
		}
		rotated, err := platform.OpenSecrets(after, nil)
		if err != nil {
			t.Fatal(err)
		}
		sealed, err := old.Keyring.Seal("plain")
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := rotated.Keyring.Open(sealed); err != nil || plain != "plain" {
			t.Errorf("after the rotation it reads %q, %v", plain, err)
		}
		id, payload, err := old.Payloads.SealBytes([]byte("plain"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := rotated.Payloads.OpenBytes(id, payload, nil); err != nil || string(plain) != "plain" {
			t.Errorf("after the rotation it reads the payload %q, %v", plain, err)
		}
		if _, err := rotated.Keyring.OpenBytes(id, payload, nil); err == nil {
			t.Error("payloads are encrypted with the key that seals secrets")
		}
		if len(rotated.OlderSigning) != 1 || !bytes.Equal(rotated.OlderSigning[0], old.Signing) {
			t.Error("tokens signed before the rotation are not accepted any more")
		}
	})

	t.Run("SeparateProcessesNeedTheSetting", func(t *testing.T) {
		t.Parallel()
		if _, err := platform.OpenSecrets(&platform.Settings{}, nil); err == nil || !strings.Contains(err.Error(), "VIGIL_SECRET_KEY") {
			t.Errorf("got %v", err)
		}
	})
}

func TestDatabaseURL(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := platform.SaveDatabaseURL(dir, "postgres://vigil:secret@127.0.0.1:5432/vigil"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, platform.DatabaseFile))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the file with the password has mode %v", info.Mode())
	}
	got, err := platform.DatabaseURL(&platform.Settings{DataDir: dir})
	if err != nil || got != "postgres://vigil:secret@127.0.0.1:5432/vigil" {
		t.Errorf("got %q, %v", got, err)
	}
	if got, _ := platform.DatabaseURL(&platform.Settings{DataDir: dir, DatabaseURL: "postgres://elsewhere"}); got != "postgres://elsewhere" {
		t.Errorf("DATABASE_URL does not win: %q", got)
	}
}
