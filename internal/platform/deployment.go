// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/dispatch"
	"github.com/vigil-monitor/vigil/internal/pace"
	"github.com/vigil-monitor/vigil/workers"
)

// Deployment is the version that the workers of this process poll as; zero when the
// settings name no deployment.
func (s *Settings) Deployment(version string) (workers.Deployment, error) {
	if s.DeploymentName == "" {
		return workers.Deployment{}, nil
	}
	build := s.BuildID
	if build == "" {
		build = version
	}
	if build == UnknownVersion {
		return workers.Deployment{}, errors.New("VIGIL_BUILD_ID must be set with VIGIL_DEPLOYMENT_NAME: this program was built without a version")
	}
	return workers.Deployment{Name: s.DeploymentName, BuildID: build}, nil
}

// deploymentPoll is the pause between two looks at whether this build gets work.
const deploymentPoll = 10 * time.Second

// moveRate is how many loops a second leave a build that gets no work any more. Each is a turn more.
const moveRate = 50

// WatchDeployment logs when Temporal gives no work to this build, which is no error: its
// workers wait until it is promoted. A fresh deployment has no current build at all. Loops that it has from
// before begin another turn, which is one of the current build: the turns that they have may take hours.
func (p *Platform) WatchDeployment(ctx context.Context) {
	if p.Deployment.Name == "" {
		return
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.onStop(func(context.Context) { cancel() })
	go func() {
		tick := time.NewTicker(deploymentPoll)
		defer tick.Stop()
		moved := make(map[pace.Loop]bool)
		for known, routed := false, false; ; {
			d, err := dispatch.DescribeDeployment(ctx, p.temporal.Client, p.Deployment.Name)
			if now := d.Routes(p.Deployment.BuildID); err == nil && (!known || now != routed) {
				known, routed = true, now
				p.logRouting(ctx, d, routed)
			}
			switch {
			case err != nil:
			case routed:
				clear(moved)
			default:
				p.moveLoops(ctx, moved)
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
}

// moveLoops has the loops whose turns this process runs begin another one, each once: where no worker of the current
// build takes them, they are better off here.
func (p *Platform) moveLoops(ctx context.Context, moved map[pace.Loop]bool) {
	watcher := p.watcher.Load()
	if watcher == nil {
		return
	}
	turns := dispatch.NewTurns(p.temporal.Client, p.settings.TemporalNamespace)
	tick := time.NewTicker(time.Second / moveRate)
	defer tick.Stop()
	for _, loop := range watcher.Running() {
		if moved[loop] {
			continue
		}
		if err := turns.RepeatTurn(ctx, vigil.OpenTurn{CheckID: loop.Check, Region: loop.Region}); err != nil {
			p.Log.WarnContext(ctx, "a loop stays on this build for now", "check", loop.Check, "region", loop.Region, "error", err)
		} else {
			moved[loop] = true
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (p *Platform) logRouting(ctx context.Context, d dispatch.Deployment, routed bool) {
	attrs := []any{"deployment", d.Name, "build", p.Deployment.BuildID, "current", d.Current, "ramping", d.Ramping, "share", d.Share}
	if routed {
		p.Log.InfoContext(ctx, "Temporal gives work to this build", attrs...)
		return
	}
	p.Log.WarnContext(ctx, "Temporal gives no work to this build; `vigil deployment promote` makes it the current one", attrs...)
}

// DeploymentTimeout bounds a command: the server propagates a change to every task queue.
const DeploymentTimeout = 60 * time.Second
