// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"time"

	"github.com/vigil-monitor/vigil/internal/dispatch"
	"github.com/vigil-monitor/vigil/workers"
)

// deployment is the version that the workers of this process poll as; zero when the
// settings name no deployment.
func (s *settings) deployment(version string) (workers.Deployment, error) {
	if s.DeploymentName == "" {
		return workers.Deployment{}, nil
	}
	build := s.BuildID
	if build == "" {
		build = version
	}
	if build == unknownVersion {
		return workers.Deployment{}, errors.New("VIGIL_BUILD_ID must be set with VIGIL_DEPLOYMENT_NAME: this program was built without a version")
	}
	return workers.Deployment{Name: s.DeploymentName, BuildID: build}, nil
}

// deploymentPoll is the pause between two looks at whether this build gets work.
const deploymentPoll = 10 * time.Second

// watchDeployment logs when Temporal gives no work to this build, which is no error: its
// workers wait until it is promoted. A fresh deployment has no current build at all.
func (p *platform) watchDeployment(ctx context.Context) {
	if p.deployment.Name == "" {
		return
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.onStop(func(context.Context) { cancel() })
	go func() {
		tick := time.NewTicker(deploymentPoll)
		defer tick.Stop()
		for known, routed := false, false; ; {
			d, err := dispatch.DescribeDeployment(ctx, p.temporal.client, p.deployment.Name)
			if now := d.Routes(p.deployment.BuildID); err == nil && (!known || now != routed) {
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

func (p *platform) logRouting(ctx context.Context, d dispatch.Deployment, routed bool) {
	attrs := []any{"deployment", d.Name, "build", p.deployment.BuildID, "current", d.Current, "ramping", d.Ramping, "share", d.Share}
	if routed {
		p.log.InfoContext(ctx, "Temporal gives work to this build", attrs...)
		return
	}
	p.log.WarnContext(ctx, "Temporal gives no work to this build; `vigil deployment promote` makes it the current one", attrs...)
}

// deploymentTimeout bounds a command: the server propagates a change to every task queue.
const deploymentTimeout = 60 * time.Second
