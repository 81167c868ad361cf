// SPDX-License-Identifier: Apache-2.0

package dispatch

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
)

// Deployment is a Worker Deployment: the builds of Vigil whose workers have polled under
// one name, and which of them the server gives work to.
type Deployment struct {
	Name    string
	Current string // a build; empty: unversioned workers
	Ramping string // a build that gets a share; empty: none
	Share   float32
	Builds  []Build // the newest first
}

// Build is a version of a Worker Deployment.
type Build struct {
	ID     string
	Status string // as Temporal calls it: current, ramping, draining, drained or inactive
}

// Routes reports whether the server gives work to a build.
func (d Deployment) Routes(build string) bool {
	return d.Current == build || d.Ramping == build && d.Share > 0
}

// errNoDeployment is the error for a deployment that no worker has polled for.
func errNoDeployment(name string) error {
	return fmt.Errorf("the Worker Deployment %q does not exist yet: start workers with VIGIL_DEPLOYMENT_NAME=%s first", name, name)
}

// DescribeDeployment reads a deployment.
func DescribeDeployment(ctx context.Context, temporal client.Client, name string) (Deployment, error) {
	described, err := temporal.WorkerDeploymentClient().GetHandle(name).Describe(ctx, client.WorkerDeploymentDescribeOptions{})
	if isNotFound(err) {
		return Deployment{}, errNoDeployment(name)
	}
	if err != nil {
		return Deployment{}, fmt.Errorf("describe the Worker Deployment %q: %w", name, err)
	}
	routing := described.Info.RoutingConfig
	d := Deployment{Name: name, Share: routing.RampingVersionPercentage}
	if routing.CurrentVersion != nil {
		d.Current = routing.CurrentVersion.BuildID
	}
	if routing.RampingVersion != nil {
		d.Ramping = routing.RampingVersion.BuildID
	}
	for _, version := range described.Info.VersionSummaries {
		d.Builds = append(d.Builds, Build{ID: version.Version.BuildID, Status: d.status(version)})
	}
	return d, nil
}

// status names the state of a version. A version that drains still has workflows whose
// last task it did.
func (d Deployment) status(version client.WorkerDeploymentVersionSummary) string {
	switch {
	case version.Version.BuildID == d.Current:
		return "current"
	case version.Version.BuildID == d.Ramping:
		return "ramping"
	case version.DrainageStatus == client.WorkerDeploymentVersionDrainageStatusDraining:
		return "draining"
	case version.DrainageStatus == client.WorkerDeploymentVersionDrainageStatusDrained:
		return "drained"
	default:
		return "inactive"
	}
}

// Ramp makes the server give a share of the workflows, in percent, to a build; 0 ends the
// ramp.
func Ramp(ctx context.Context, temporal client.Client, name, build string, percent float32) error {
	options := client.WorkerDeploymentSetRampingVersionOptions{BuildID: build, Percentage: percent}
	_, err := temporal.WorkerDeploymentClient().GetHandle(name).SetRampingVersion(ctx, options)
	return deploymentError(name, build, err)
}

// Promote makes a build the current one: the server gives it every workflow with the next
// workflow task. An empty build is the unversioned workers.
func Promote(ctx context.Context, temporal client.Client, name, build string) error {
	options := client.WorkerDeploymentSetCurrentVersionOptions{BuildID: build}
	_, err := temporal.WorkerDeploymentClient().GetHandle(name).SetCurrentVersion(ctx, options)
	return deploymentError(name, build, err)
}

func deploymentError(name, build string, err error) error {
	switch {
	case err == nil:
		return nil
	case isNotFound(err):
		return errNoDeployment(name)
	}
	if refused, ok := errors.AsType[*serviceerror.FailedPrecondition](err); ok {
		return fmt.Errorf("the build %q is refused by Temporal: its workers must poll every task queue that has work: %s", build, refused.Message)
	}
	return fmt.Errorf("change the Worker Deployment %q: %w", name, err)
}
