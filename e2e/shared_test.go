// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/vigil-monitor/vigil/internal/probe/probetest"
	"github.com/vigil-monitor/vigil/storage/storagetest"
)

// common is what the tests share that kill, freeze and reconfigure nothing: one platform,
// in which each has an organization of its own, and one Chromium. Either starts with the
// first test that asks for it and is ended by TestMain.
var common commons //nolint:gochecknoglobals // shared by all tests of the run

type commons struct {
	platformOnce sync.Once
	dir          string
	process      *process
	authority    *probetest.Authority
	accounts     atomic.Int64

	chromiumOnce sync.Once
	chromium     *chromium
	stopChromium func()
}

// shared returns the common platform and a client of it with an organization of its own, of
// the enterprise tier. Its process must not be stopped.
func shared(t *testing.T) (*process, client) {
	t.Helper()
	common.platformOnce.Do(func() { common.startPlatform(t) })
	if common.process == nil {
		t.Fatal("the shared platform did not start, see the first test that uses it")
	}
	p := *common.process
	p.t = t
	c := client{t: t, url: p.ready.APIURL}
	var account struct {
		APIKey string `json:"api_key"`
	}
	name := fmt.Sprintf("shared%d", common.accounts.Add(1))
	c.into(&account, http.MethodPost, "/v1/auth/quick-signup", object{"email": name + "@example.com", "org_name": name})
	c.key = account.APIKey
	return &p, c
}

// startPlatform starts the common platform, which trusts the authority of its own.
func (c *commons) startPlatform(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp(storagetest.BaseDir(), "vigil-shared-") //nolint:usetesting // it outlives the test
	if err != nil {
		t.Fatal(err)
	}
	c.dir = dir
	if err := os.Chmod(dir, 0o755); err != nil { // its Postgres may run as another user
		t.Fatal(err)
	}
	c.authority = probetest.NewAuthority(t, nil)
	trusted := filepath.Join(dir, "authority.pem")
	if err := os.WriteFile(trusted, c.authority.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(freePorts(filepath.Join(dir, "data")),
		"VIGIL_REGIONS=eu-central-fra,na-east-ewr", "VIGIL_SIGNUP_TIER=enterprise", "SSL_CERT_FILE="+trusted, fastSchedule)
	p, err := spawn(commandAs(nil, "up", "--json"), env)
	if err != nil {
		t.Fatal(err)
	}
	c.process = p
}

// dsn returns the connection string of the common platform's database.
func (c *commons) dsn(t *testing.T) string {
	t.Helper()
	return privateDatabase(t, filepath.Join(c.dir, "data"))
}

// end ends what was started and reports what went wrong in it.
func (c *commons) end() error {
	if c.stopChromium != nil {
		c.stopChromium()
	}
	var err error
	if c.process != nil {
		if _, stopped := c.process.interrupt(); stopped != nil {
			err = fmt.Errorf("the shared platform: %w", stopped)
		}
	}
	if c.dir != "" {
		err = errors.Join(err, os.RemoveAll(c.dir))
	}
	return err
}

// theChromium returns the common Chromium, and skips the test when there is none.
func theChromium(t *testing.T) *chromium {
	t.Helper()
	path := findChromium()
	if path == "" {
		t.Skip("no Chromium found; make test-browser installs it")
	}
	common.chromiumOnce.Do(func() {
		common.chromium, common.stopChromium = startChromium(context.WithoutCancel(t.Context()), t, path)
	})
	if common.chromium == nil {
		t.Fatal("Chromium did not start, see the first test that uses it")
	}
	return common.chromium
}
