// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/project"
)

// checkRetryView is the member retry of a check.
type checkRetryView struct {
	Attempts     rest.Integer  `json:"attempts" minimum:"0" maximum:"3" doc:"How many times a failing probe is tried again."`
	DelaySeconds rest.Integer  `json:"delay_seconds" minimum:"0" maximum:"30" doc:"Seconds between two attempts."`
	On           vigil.RetryOn `json:"on" enum:"any,network" doc:"Which failures are tried again: any, or network for name resolution, connecting, TLS and timeouts only."`
	Unsafe       bool          `json:"unsafe" doc:"Permits to repeat probes that may change something at the target: HTTP methods other than GET, HEAD and OPTIONS, uploads, smtp-imap, and multistep checks with such a step."`
}

// TransformSchema says that a body may leave out each member, and what it is then. An
// answer has all of them.
func (checkRetryView) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Description = "What happens before a failure is stored: the probe is tried again in the same region. " +
		"All attempts with the delays between them must fit the interval."
	s.Required = nil
	for name, value := range map[string]any{"attempts": 0, "delay_seconds": 0, "on": string(vigil.RetryAny), "unsafe": false} {
		s.Properties[name].Default = value
	}
	return s
}

// retryMember is the member retry of a body. Absent keeps what is stored, and null stands
// for the defaults.
type retryMember = rest.Nullable[checkRetryView]

func showRetry(r vigil.Retry) checkRetryView {
	return checkRetryView{
		Attempts: rest.Integer(r.Attempts), DelaySeconds: rest.Integer(r.Delay / time.Second), On: r.Which(), Unsafe: r.Unsafe,
	}
}

// setRetry applies the member, if it was given.
func setRetry(into *vigil.Retry, m retryMember) error {
	if !m.Given {
		return nil
	}
	*into = vigil.Retry{}
	if m.Value == nil {
		return nil
	}
	*into = vigil.Retry{
		Attempts: int(m.Value.Attempts), Delay: time.Duration(m.Value.DelaySeconds) * time.Second, On: m.Value.On, Unsafe: m.Value.Unsafe,
	}.Normal()
	return into.Validate()
}

// RetryTree is a retry as a changeset compares it: the members that a file must have.
func RetryTree(r vigil.Retry) any {
	members := map[string]any{}
	if r.Attempts != 0 {
		members["attempts"] = json.Number(strconv.Itoa(r.Attempts))
	}
	if r.Delay != 0 {
		members["delay"] = project.FormatSeconds(int64(r.Delay / time.Second))
	}
	if which := r.Which(); which != vigil.RetryAny {
		members["on"] = string(which)
	}
	if r.Unsafe {
		members["unsafe"] = true
	}
	return members
}
