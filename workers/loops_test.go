package workers_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

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

// scribe keeps the summary of the activity that it is to start.
type scribe struct {
	client.Client
	summary string
}

func (s *scribe) ExecuteActivity(_ context.Context, options client.StartActivityOptions, _ any, _ ...any) (client.ActivityHandle, error) {
	s.summary = options.Summary
	return trial{answers: true}, nil
}

// TestSummaryOfATest holds that the server takes the summary of a test whatever
// the check is called: it counts the bytes of the encoded payload.
func TestSummaryOfATest(t *testing.T) {
	t.Parallel()
	const most = 400
	for _, name := range []string{
		"home page", strings.Repeat("a", 200), strings.Repeat("ж", 200), strings.Repeat("監", 200), strings.Repeat("<", 200),
		strings.Repeat("\u2028", 200), strings.Repeat("🙂", 200),
	} {
		temporal := &scribe{}
		loops := workers.NewLoops(temporal, nil, slog.New(slog.DiscardHandler))
		if _, err := loops.Test(t.Context(), vigil.Check{ID: uuid.New(), OrgID: uuid.New(), Name: name}, "eu-central-fra", true); err != nil {
			t.Fatal(err)
		}
		payload, err := converter.GetDefaultDataConverter().ToPayload(temporal.summary)
		if err != nil {
			t.Fatal(err)
		}
		if size := proto.Size(payload); size > most || !strings.HasPrefix(name, temporal.summary) || temporal.summary == "" {
			t.Errorf("%q has the summary %q of %d bytes, want at most %d", name, temporal.summary, size, most)
		}
		if len(name) == 200 && name[0] == 'a' && temporal.summary != name {
			t.Errorf("%q was cut to %q", name, temporal.summary)
		}
	}
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
