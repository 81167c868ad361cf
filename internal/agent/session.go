// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/internal/agentlink"
	"github.com/vigil-monitor/vigil/internal/neterr"
	"github.com/vigil-monitor/vigil/internal/timing"
)

const (
	// A connection that was lost is tried again after pause, which doubles up to pauseMost.
	pause     = 250 * time.Millisecond
	pauseMost = 5 * time.Second
	// revokedPause is how long a token is not tried again that the platform does not accept, unless
	// it changes: that is looked at each tokenEvery.
	revokedPause = 30 * time.Second
	tokenEvery   = time.Second
	// requestTimeout is how long the platform has to answer.
	requestTimeout = 10 * time.Second
	// maxAnswer bounds an answer, in bytes, and maxProblem what is shown of one that is an error.
	maxAnswer  = 4 << 20
	maxProblem = 300
)

// StatusError is an answer of the platform that is no success.
type StatusError struct {
	Status int
	Detail string // what the platform says, in one line; empty: nothing
	// RetryAfter is how long the platform asks to wait; 0: it does not.
	RetryAfter time.Duration
}

// Error says what the platform answered.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("the platform answered with the status %d", e.Status)
	switch {
	case e.Status == http.StatusUnauthorized:
		text = "the token is not valid (401): it was revoked or rotated, or belongs to another platform"
	case e.Status >= 300 && e.Status < 400:
		text = fmt.Sprintf("the address of the platform leads elsewhere (%d): give the one that it redirects to", e.Status)
	}
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// statusOf returns the status of an answer, 0 for an error that is none.
func statusOf(err error) int {
	if answer, ok := errors.AsType[*StatusError](err); ok {
		return answer.Status
	}
	return 0
}

// Explain says in a sentence why the platform cannot be reached.
func Explain(ctx context.Context, err error) string {
	if statusOf(err) != 0 {
		return err.Error()
	}
	if _, sentence := (neterr.Exchange{Peer: "the platform"}).Explain(ctx, err); sentence != "" {
		return sentence
	}
	return err.Error()
}

// do sends a request of the protocol with the token.
func (o *Options) do(ctx context.Context, method, path string, body any, header http.Header) (*http.Response, error) {
	token, err := o.Token()
	if err != nil {
		return nil, err
	}
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encode the request: %w", err)
		}
		content = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, o.URL+path, content)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	for name, values := range header {
		request.Header[name] = values
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("User-Agent", "vigil-agent/"+o.Version)
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := o.HTTP.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		defer func() { _ = response.Body.Close() }()
		return nil, problemOf(response)
	}
	return response, nil
}

// problemOf reads an answer that is no success (RFC 9457).
func problemOf(response *http.Response) error {
	problem := &StatusError{Status: response.StatusCode}
	if wait, err := time.ParseDuration(response.Header.Get("Retry-After") + "s"); err == nil {
		problem.RetryAfter = wait
	}
	var said struct {
		Detail string `json:"detail"`
		Error  struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err == nil && json.Unmarshal(text, &said) == nil {
		problem.Detail = strings.Join(strings.Fields(said.Detail+" "+said.Error.Message), " ")
		problem.Detail = problem.Detail[:min(len(problem.Detail), maxProblem)]
	}
	return problem
}

// call sends a request and reads its answer, nil for one without.
func (o *Options) call(ctx context.Context, path string, body, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	response, err := o.do(ctx, http.MethodPost, path, body, nil)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	read := io.LimitReader(response.Body, maxAnswer)
	if answer == nil {
		_, err = io.Copy(io.Discard, read)
		return err
	}
	enveloped := struct {
		Data any `json:"data"`
	}{answer}
	if err := json.NewDecoder(read).Decode(&enveloped); err != nil {
		return fmt.Errorf("the answer of %s is not that of a Vigil platform: %w", path, err)
	}
	_, _ = io.Copy(io.Discard, read)
	return nil
}

// pathOf returns a path of the protocol for a session, and for a task.
func pathOf(path, session, task string) string {
	return strings.NewReplacer("{session}", session, "{task}", task).Replace(path)
}

// connect keeps a session and its stream until ctx ends.
func (a *Agent) connect(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; {
		within, end := context.WithCancel(ctx)
		began := a.Now()
		welcome, err := a.hello(ctx)
		if err == nil {
			a.link.begin(&session{Welcome: welcome, end: end})
			err = a.follow(within, welcome.Session)
			if ctx.Err() != nil { // what is left is sent in this session
				end()
				return
			}
			a.link.lose(welcome.Session)
			if timing.Age(a.Now(), began) > pauseMost {
				failures = 0
			}
		}
		end()
		if ctx.Err() != nil {
			return
		}
		if a.endure(ctx, err, failures) {
			failures++
		}
	}
}

// endure takes a failure and waits before the next attempt. It reports whether the next one is to wait for longer.
func (a *Agent) endure(ctx context.Context, err error, failures int) (again bool) {
	status := statusOf(err)
	ended := status == http.StatusNotFound || errors.Is(err, errSessionEnded) // it is not known any more
	switch {
	case status == http.StatusUnauthorized:
		a.revoked(ctx, err)
		return false
	case ended && failures == 0:
		return true // another one follows at once
	case !ended:
		a.failed(ctx, err)
	}
	_ = timing.Sleep(ctx, backoff(err, failures))
	return true
}

// backoff is how long to wait after a number of failures before this one, with jitter.
func backoff(err error, failures int) time.Duration {
	wait := min(pause<<min(failures, 10), pauseMost)
	wait = wait/2 + rand.N(wait/2+1) //nolint:gosec // spreads agents, guards nothing
	if answer, ok := errors.AsType[*StatusError](err); ok {
		wait = max(wait, min(answer.RetryAfter, pauseMost))
	}
	return wait
}

// failed notes that the platform cannot be reached.
func (a *Agent) failed(ctx context.Context, err error) {
	switch statusOf(err) {
	case http.StatusUnauthorized, http.StatusNotFound:
		return // what opens the next session says it
	}
	if err == nil || ctx.Err() != nil || errors.Is(err, errNoSession) {
		return
	}
	if a.link.failed(a.Now(), Explain(ctx, err)) {
		a.Log.WarnContext(ctx, "cut off from the platform; probing goes on with what is known", "error", Explain(ctx, err))
	}
}

// answered takes an answer of the platform: its clock and its epoch.
func (a *Agent) answered(ctx context.Context, sent, platform time.Time, epoch int64) {
	now := a.Now()
	a.clock.observe(sent, now, platform)
	if lost := a.link.answered(now); !lost.IsZero() {
		a.Log.InfoContext(ctx, "in contact with the platform again", "after", timing.Age(now, lost).Round(time.Second).String())
	}
	changed, err := a.epoch.changes(epoch)
	if err != nil {
		a.Log.ErrorContext(ctx, "the data directory cannot be written to", "error", err)
	}
	if !changed {
		return
	}
	results, err := a.spool.resend()
	a.Log.WarnContext(ctx, "the platform was restored from a backup: the results of the last hour are sent again",
		"results", results, "error", err)
	a.link.restart()
}

// hello opens a session.
func (a *Agent) hello(ctx context.Context) (agentlink.Welcome, error) {
	sent := a.Now()
	var welcome agentlink.Welcome
	err := a.call(ctx, agentlink.PathSessions, agentlink.Hello{
		Protocol: agentlink.Protocol, Version: a.Version, Name: a.Name, Instance: a.instance, Key: a.key.Public(), Types: a.types,
	}, &welcome)
	if err != nil {
		return welcome, err
	}
	a.answered(ctx, sent, welcome.Time, welcome.Epoch)
	a.Log.InfoContext(ctx, "connected", "location", welcome.Location.Key, "session", welcome.Session)
	return welcome, nil
}

// revoked ends all probing, and waits until the token may be another one.
func (a *Agent) revoked(ctx context.Context, err error) {
	a.link.restart()
	a.checks.forget()
	if a.link.refused(a.Now(), err.Error()) {
		a.Log.ErrorContext(ctx, "the token is not valid: it was revoked or rotated. Nothing is probed until the platform accepts the token")
	}
	tried, _ := a.Token()
	wait := revokedPause/2 + rand.N(revokedPause/2) //nolint:gosec // spreads agents, guards nothing
	for ; wait > 0 && timing.Sleep(ctx, tokenEvery) == nil; wait -= tokenEvery {
		if token, err := a.Token(); err == nil && token != tried {
			return
		}
	}
}
