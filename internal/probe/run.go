// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/redact"
)

// expiry is the cause of a context that ended at the probe's own deadline.
type expiry time.Duration

func (e expiry) Error() string { return "timed out after " + humanDuration(time.Duration(e)) }

// outcome is what an exchange found: err is nil for success.
type outcome struct {
	status   int
	metadata any // the type's documented struct, or nil
	err      error
	evidence *vigil.Evidence // of the step that failed; nil: of this exchange
}

// observe runs one exchange under its deadline and makes an observation of it.
// The exchange moves the timeline, obeys ctx and opens everything under it, so
// that all it leaves open is closed when it returns.
func observe(
	ctx context.Context,
	guard *egress.Guard,
	deadline time.Duration,
	hidden *redact.Redactor,
	exchange func(context.Context, *timeline) outcome,
) (seen vigil.Observation) {
	ctx, cancel := context.WithTimeoutCause(ctx, deadline, expiry(deadline))
	defer cancel()
	t := newTimeline()
	t.recorder = newRecorder(ctx, guard)
	defer func() {
		if broken := recover(); broken != nil {
			reason := clip(hidden.Text(fmt.Sprintf("the probe itself broke: %v", broken)), maxReason)
			seen = vigil.Observation{Error: reason, ResponseTime: t.stop()}
		}
	}()
	found := outcome{err: ctx.Err()}
	if found.err == nil {
		found = exchange(t.trace(ctx), t)
	}
	if len(t.secrets) > 0 {
		hidden = hidden.With(t.secrets...)
	}
	if found.err != nil {
		reason, network := explain(ctx, t, found.err)
		seen.Error, seen.NetworkFailure = clip(hidden.Text(reason), maxReason), network
	}
	seen.Success = found.err == nil
	seen.StatusCode = found.status
	seen.ResponseTime = t.stop()
	seen.Metadata = members(found.metadata, hidden)
	seen.Evidence = t.recorder.keep(seen, found, hidden)
	return seen
}

// members turns a metadata struct into the map that its JSON form is, so that
// an observation and the same one read back from storage are alike.
func members(metadata any, hidden *redact.Redactor) map[string]any {
	if metadata == nil {
		return nil
	}
	text, err := json.Marshal(metadata)
	if err != nil {
		return map[string]any{"problem": "the metadata cannot be encoded"}
	}
	var found map[string]any
	if err := json.Unmarshal(text, &found); err != nil {
		return map[string]any{"problem": "the metadata cannot be encoded"}
	}
	found, _ = hidden.Tree(found).(map[string]any)
	return found
}
