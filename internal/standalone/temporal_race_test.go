// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package standalone_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// checkRacingStarts tests that a workflow that several clients start at the same time has
// its first task soon. All but one of the starts fail in the server, which must not hide
// the tasks of the one that does not.
func checkRacingStarts(t *testing.T, c client.Client) {
	t.Helper()
	const queue, pairs, clients, bound = "racing", 10, 4, 20 * time.Second
	w := worker.New(c, queue, worker.Options{DisableRegistrationAliasing: true})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		workflow.GetSignalChannel(ctx, "go").Receive(ctx, nil)
		return nil
	}, workflow.RegisterOptions{Name: "Racing"})
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	var longest time.Duration
	for i := range pairs {
		id, began := fmt.Sprintf("racing-%d", i), time.Now()
		var starts sync.WaitGroup
		for range clients {
			starts.Go(func() {
				_, err := c.SignalWithStartWorkflow(t.Context(), id, "go", nil, client.StartWorkflowOptions{TaskQueue: queue}, "Racing")
				if err != nil {
					t.Error(err)
				}
			})
		}
		starts.Wait()
		if err := c.GetWorkflow(t.Context(), id, "").Get(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		longest = max(longest, time.Since(began))
	}
	t.Logf("%d workflows, each started by %d clients: the slowest ended after %v", pairs, clients, longest)
	if longest > bound {
		t.Errorf("a workflow waited %v for its first task, want %v at most", longest, bound)
	}
}
