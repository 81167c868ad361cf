// SPDX-License-Identifier: Apache-2.0

package workers

import (
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Deployment is the Worker Deployment Version that the workers of a process poll as. The
// server then routes to it what the deployment's current and ramping versions say. The
// zero value polls unversioned.
type Deployment struct {
	Name    string // of the Worker Deployment, one for all workers of a platform
	BuildID string // of this program
}

// build names the version, as the server does; it is empty for an unversioned worker.
func (d Deployment) build() string {
	if d.Name == "" {
		return ""
	}
	return d.Name + "." + d.BuildID
}

// options are zero for an unversioned worker.
func (d Deployment) options() worker.DeploymentOptions {
	if d.Name == "" {
		return worker.DeploymentOptions{}
	}
	return worker.DeploymentOptions{
		UseVersioning:             true,
		Version:                   worker.WorkerDeploymentVersion{DeploymentName: d.Name, BuildID: d.BuildID},
		DefaultVersioningBehavior: workflow.VersioningBehaviorAutoUpgrade,
	}
}

// registered are the options of a workflow. Every workflow is AutoUpgrade: a loop runs as
// long as its check, so that a build which it were pinned to could never be stopped.
// workflow.GetVersion keeps a change compatible with the histories before it.
func registered(name string) workflow.RegisterOptions {
	return workflow.RegisterOptions{Name: name, VersioningBehavior: workflow.VersioningBehaviorAutoUpgrade}
}
