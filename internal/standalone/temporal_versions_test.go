// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package standalone_test

import (
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/vigil-monitor/vigil/internal/timing/timingtest"
)

// checkVersioned proves that the server has Worker Deployment Versions, and that eager and
// standalone activities work with them.
func checkVersioned(t *testing.T, c client.Client) {
	t.Helper()
	const queue, build = "versioned", "v1"
	opts := worker.Options{DeploymentOptions: worker.DeploymentOptions{
		UseVersioning: true, Version: worker.WorkerDeploymentVersion{DeploymentName: "vigil", BuildID: build},
		DefaultVersioningBehavior: workflow.VersioningBehaviorAutoUpgrade,
	}}
	promoteBuild(t, c, queue, build, opts)
	late := opts
	late.DisableEagerActivities = true
	eager, queued := runTurn(t, c, queue, "versioned-eager", opts), runTurn(t, c, queue, "versioned-queued", late)
	if eager != queued-1 {
		t.Errorf("versioned: %d state transitions with eager activities and %d without, want one fewer", eager, queued)
	}
	checkStandaloneActivity(t, c, queue, opts)
}

// promoteBuild makes a build current once the server has seen a worker of it.
func promoteBuild(t *testing.T, c client.Client, queue, build string, opts worker.Options) {
	t.Helper()
	w := worker.New(c, queue, opts)
	w.RegisterWorkflowWithOptions(turn, workflow.RegisterOptions{Name: "turn"})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	deployment := c.WorkerDeploymentClient().GetHandle("vigil")
	var err error
	defer func() {
		if err != nil {
			t.Log(err)
		}
	}()
	timingtest.Eventually(t, 30*time.Second, "the build "+build+" becomes the current one", func() bool {
		_, err = deployment.SetCurrentVersion(t.Context(), client.WorkerDeploymentSetCurrentVersionOptions{BuildID: build})
		return err == nil
	})
}
