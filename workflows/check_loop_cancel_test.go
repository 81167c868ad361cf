// SPDX-License-Identifier: Apache-2.0

package workflows_test

import (
	"errors"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
)

// A canceled loop ends as such: every call would fail with its context, so that it would
// go through all of its turns at once, and continue as new as if nothing had happened.
func TestCheckLoopEndsWhenItIsCanceled(t *testing.T) {
	t.Parallel()
	l := newLoopTest(t)
	l.script = append(l.script, covered)
	l.env.RegisterDelayedCallback(l.env.CancelWorkflow, 10*time.Second)
	began := l.env.Now()
	err := l.run()
	if _, canceled := errors.AsType[*temporal.CanceledError](err); !canceled {
		t.Errorf("ended with %v, want canceled", err)
	}
	if took := l.env.Now().Sub(began); took >= l.holds || len(l.turns) > 1 {
		t.Errorf("took %v and %d turns", took, len(l.turns))
	}
}
