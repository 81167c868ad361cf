package probe

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"vigil"
)

// expiry is the cause of a context that ended at the probe's own deadline.
type expiry time.Duration

func (e expiry) Error() string { return "timed out after " + humanDuration(time.Duration(e)) }

// outcome is what an exchange found: err is nil for success.
type outcome struct {
	status   int
	metadata any // the type's documented struct, or nil
	err      error
}

// observe runs one exchange under its deadline and makes an observation of it.
// The exchange moves the timeline, obeys ctx and opens everything under it, so
// that whatever is left when it returns is closed.
func observe(ctx context.Context, deadline time.Duration, hidden secrets, exchange func(context.Context, *timeline) outcome) (seen vigil.Observation) {
	ctx, cancel := context.WithTimeoutCause(ctx, deadline, expiry(deadline))
	defer cancel()
	t := newTimeline()
	defer func() {
		if broken := recover(); broken != nil {
			reason := clip(hidden.redact(fmt.Sprintf("the probe itself broke: %v", broken)), maxReason)
			seen = vigil.Observation{Error: reason, ResponseTime: t.stop()}
		}
	}()
	found := outcome{err: ctx.Err()}
	if found.err == nil {
		found = exchange(t.trace(ctx), t)
	}
	if found.err != nil {
		seen.Error = clip(hidden.redact(explain(ctx, t, found.err)), maxReason)
	}
	seen.Success = found.err == nil
	seen.StatusCode = found.status
	seen.ResponseTime = t.stop()
	seen.Metadata = members(found.metadata, hidden)
	return seen
}

// members turns a metadata struct into the map that its JSON form is, so that
// an observation and the same one read back from storage are alike.
func members(metadata any, hidden secrets) map[string]any {
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
	if len(hidden) > 0 {
		found, _ = hidden.redactAll(found).(map[string]any)
	}
	return found
}

// secrets are the texts of a config that no error or metadata may show, even
// when the target repeats them.
type secrets []string

// minSecret is the length below which hiding a text would only garble others.
const minSecret = 4

// add takes a text over when it can be hidden.
func (s *secrets) add(texts ...string) {
	for _, text := range texts {
		if len(text) >= minSecret {
			*s = append(*s, text)
		}
	}
}

func (s secrets) redact(text string) string {
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, vigil.SecretMask)
	}
	return text
}

func (s secrets) redactAll(value any) any {
	switch value := value.(type) {
	case string:
		return s.redact(value)
	case []any:
		for i := range value {
			value[i] = s.redactAll(value[i])
		}
	case map[string]any:
		for name := range value {
			value[name] = s.redactAll(value[name])
		}
	}
	return value
}
