// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/vigil-monitor/vigil/internal/demo"
)

// demoFile is the file of the data directory that has the state of the demo.
const demoFile = "demo.json"

// CheckDemo refuses a demo where others could see it: its shop is on loopback.
func CheckDemo(s *Settings) error {
	if !s.Local() {
		return errors.New("--demo needs an API that only this machine can reach: leave out VIGIL_LISTEN, VIGIL_PUBLIC_URL " +
			"and VIGIL_TRUSTED_PROXIES, or set them to addresses on loopback")
	}
	return nil
}

// openDemo serves the shop and the receiver of the demo until the process stops. They are
// there before the workers, which would find the shop closed.
func (p *Platform) openDemo(ctx context.Context, baseURL, dataDir string, show *Screen) (err error) {
	p.Demo, err = demo.Open(ctx, demo.Options{
		API: p.serveInProcess(p.api, p.store), BaseURL: baseURL, File: filepath.Join(dataDir, demoFile),
		Interval: max(demo.Interval, p.settings.EnterpriseMinInterval), Regions: demoRegions(p.settings.Regions),
		Show: show.Demo, Now: time.Now, Log: p.Log,
	})
	if err == nil {
		p.onStop(func(context.Context) { p.Demo.Close() })
	}
	return err
}

// pauseDemo pauses the check of a demo that an earlier start played: its shop is not served
// now, so that it would fail until its owner finds out why.
func (p *Platform) pauseDemo(ctx context.Context, baseURL, dataDir string, show *Screen) error {
	if _, err := os.Stat(filepath.Join(dataDir, demoFile)); err != nil {
		return nil //nolint:nilerr // no demo was played here
	}
	paused, err := demo.Pause(ctx, p.serveInProcess(p.api, p.store), baseURL)
	if err == nil && paused > 0 {
		show.Note("the check of the demo is paused: `vigil up --demo` goes on with it, `vigil demo remove` deletes it")
	}
	return err
}

// RunDemo plays the demo until ctx ends, and reports that it cannot begin.
func (p *Platform) RunDemo(ctx context.Context) {
	if err := p.Demo.Run(ctx); err != nil {
		p.fail(err)
	}
}

// demoRegions are the regions of the demo that this process probes from, else the first
// ones that it does.
func demoRegions(served []string) []string {
	wanted := demo.Regions()
	most := len(wanted)
	wanted = slices.DeleteFunc(wanted, func(region string) bool { return !slices.Contains(served, region) })
	if len(wanted) == 0 {
		wanted = served[:min(most, len(served))]
	}
	return wanted
}
