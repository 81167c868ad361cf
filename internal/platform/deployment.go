// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"errors"
	"time"

	"github.com/vigil-monitor/vigil/internal/dispatch"
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

// WatchDeployment logs when Temporal gives no work to this build, which is no error: its
// workers wait until it is promoted. A fresh deployment has no current build at all.
func (p *Platform) WatchDeployment(ctx context.Context) {
	if p.Deployment.Name == "" {
		return
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.onStop(func(context.Context) { cancel() })
	go func() {
		tick := time.NewTicker(deploymentPoll)
		defer tick.Stop()
		for known, routed := false, false; ; {
			d, err := dispatch.DescribeDeployment(ctx, p.temporal.Client, p.Deployment.Name)
			if now := d.Routes(p.Deployment.BuildID); err == nil && (!known || now != routed) {
				known, routed = true, now
				p.logRouting(ctx, d, routed)
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
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
