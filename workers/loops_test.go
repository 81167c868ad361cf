package workers_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"

	"vigil"
	"vigil/workers"
)

// away is a Temporal that does not answer from some call on. The client asks it
// again until its caller gives up.
type away struct {
	client.Client
	takes, answers bool
}

func (a away) ExecuteActivity(ctx context.Context, _ client.StartActivityOptions, _ any, _ ...any) (client.ActivityHandle, error) {
	if a.takes {
		return trial{answers: a.answers}, nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (away) SignalWorkflow(ctx context.Context, _, _, _ string, _ any) error {
	<-ctx.Done()
	return ctx.Err()
}

type trial struct {
	client.ActivityHandle
	answers bool
}

func (a trial) Get(ctx context.Context, _ any) error {
	if a.answers {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func TestTestWhileTemporalIsAway(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		temporal away
		within   time.Duration
		code     vigil.Code
	}{
		"FromTheStart":     {away{}, 5 * time.Second, vigil.CodeUnavailable},
		"WhileItRuns":      {away{takes: true}, 6 * time.Minute, vigil.CodeUnavailable},
		"OnceItHasAResult": {away{takes: true, answers: true}, 2 * time.Second, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				loops := workers.NewLoops(test.temporal, nil, slog.New(slog.DiscardHandler))
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // longer than any caller waits
				defer cancel()
				began := time.Now()
				_, err := loops.Test(ctx, vigil.Check{ID: uuid.New(), OrgID: uuid.New()}, "eu-central-fra", false)
				if took := time.Since(began); took > test.within {
					t.Errorf("answered after %v, want %v at most", took, test.within)
				}
				if vigil.ErrorCode(err) != test.code {
					t.Errorf("%v, want code %q", err, test.code)
				}
			})
		})
	}
}
