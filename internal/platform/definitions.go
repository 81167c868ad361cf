// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/instance"
	"github.com/vigil-monitor/vigil/internal/manifest"
	"github.com/vigil-monitor/vigil/internal/timing"
)

const (
	// applyEvery is how often the files of --apply are looked at.
	applyEvery = 10 * time.Second
	// rereadEvery is how often they are read although they look the same: the files that
	// ${file:...} names may have changed.
	rereadEvery = time.Minute
	// applyTimeout bounds one application; the server waits 30 s for another one.
	applyTimeout = 2 * time.Minute
)

// applier applies the files of --apply at the start and when their content changes.
type applier struct {
	path    string
	rules   manifest.Rules
	names   []string // of the variables that the files may use
	env     func(name string) (value string, given bool)
	api     *http.Client
	baseURL string
	dataDir string // where the outcome is described
	now     func() time.Time
	log     *slog.Logger

	outcome instance.Applied
	stamp   string            // of the files when they were read
	readAt  time.Time         // zero: never
	applied [sha256.Size]byte // of the document that was applied last
}

// StartApplying applies the files of the setting from now on, until ctx ends.
func (p *Platform) StartApplying(ctx context.Context, baseURL string) error {
	if p.settings.Apply == "" {
		return nil
	}
	path, err := filepath.Abs(p.settings.Apply)
	if err != nil {
		return fmt.Errorf("VIGIL_APPLY (--apply): %w", err)
	}
	rules, err := FileRules()
	if err != nil {
		return err
	}
	if err := ensureOperator(ctx, p.store); err != nil {
		return err
	}
	a := &applier{
		path: path, rules: rules, names: append([]string{}, p.settings.ApplyVariables...), api: p.serveInProcess(p.api, p.store),
		baseURL: baseURL, dataDir: p.settings.DataDir, now: time.Now, env: p.program.Env,
		log: p.Log.With("path", path), outcome: instance.Applied{Path: path, PID: os.Getpid()},
	}
	if err := os.MkdirAll(a.dataDir, 0o700); err != nil {
		p.Log.WarnContext(ctx, "the outcome of --apply is not shown by `vigil doctor`", "error", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			a.look(ctx)
			_ = timing.Sleep(ctx, applyEvery)
		}
	}()
	p.onStop(func(context.Context) {
		cancel()
		<-ended
		instance.RemoveApplied(a.dataDir)
	})
	return nil
}

// ensureOperator creates the operator's account, without a key, if there is none.
func ensureOperator(ctx context.Context, store accountStore) error {
	_, err := store.Operator(ctx)
	if vigil.ErrorCode(err) == vigil.CodeNotFound {
		_, err = CreateOperator(ctx, store, nil)
	}
	return err
}

// look reads the files when they may have changed, and applies a changed document. What
// could not be applied is tried again at the next look; a mistake of the files, when they
// are read the next time.
func (a *applier) look(ctx context.Context) {
	stamp := stampOf(a.path)
	if stamp == a.stamp && a.outcome.State != instance.AppliedFailed && a.now().Sub(a.readAt) < rereadEvery {
		return
	}
	a.stamp, a.readAt = stamp, a.now()
	document, err := manifest.Read([]string{a.path}, manifest.Options{Rules: a.rules, Env: a.env, Variables: a.names})
	if err != nil {
		a.finish(ctx, instance.AppliedInvalid, problemLines(err))
		return
	}
	sum := sha256.Sum256(document.JSON())
	if sum == a.applied && a.outcome.State == instance.AppliedNow {
		a.finish(ctx, instance.AppliedNow, nil)
		return
	}
	for _, warning := range document.Warnings {
		a.log.WarnContext(ctx, "a definition has a problem", "problem", warning.String())
	}
	state, lines := a.apply(ctx, document)
	if state == instance.AppliedNow {
		a.applied = sum
	}
	a.finish(ctx, state, lines)
}

// finish describes the outcome, and logs a new one.
func (a *applier) finish(ctx context.Context, state instance.AppliedState, problems []string) {
	if ctx.Err() != nil {
		return // the process stops
	}
	if state != instance.AppliedNow && (state != a.outcome.State || !slices.Equal(problems, a.outcome.Errors)) {
		for _, problem := range problems {
			a.log.ErrorContext(ctx, "the definitions are not applied, what runs goes on", "problem", problem)
		}
	}
	a.outcome.State, a.outcome.Errors, a.outcome.LookedAt = state, problems, a.now().UTC()
	if err := instance.SaveApplied(a.dataDir, a.outcome); err != nil {
		a.log.DebugContext(ctx, "the outcome of --apply is not stored", "error", err)
	}
}

// apply sends the document to the API.
func (a *applier) apply(ctx context.Context, document *manifest.Document) (instance.AppliedState, []string) {
	ctx, cancel := context.WithTimeout(ctx, applyTimeout)
	defer cancel()
	body, err := json.Marshal(map[string]any{
		"project": document.Project, "document": document.JSON(), "sources": document.Sources(), "missing": "keep",
	})
	if err != nil {
		return instance.AppliedInvalid, problemLines(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.baseURL+"/v1/apply", bytes.NewReader(body))
	if err != nil {
		return instance.AppliedFailed, problemLines(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "vigil --apply")
	response, err := a.api.Do(request)
	if err != nil {
		return instance.AppliedFailed, problemLines(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAppliedAnswer))
	if err != nil {
		return instance.AppliedFailed, problemLines(err)
	}
	if response.StatusCode != http.StatusOK {
		return a.refused(response.StatusCode, text, document)
	}
	return a.done(ctx, text, document.Project)
}

// maxAppliedAnswer bounds the answer of an application, in bytes.
const maxAppliedAnswer = 64 << 20

// done notes what was applied.
func (a *applier) done(ctx context.Context, text []byte, project string) (instance.AppliedState, []string) {
	var answer struct {
		Data struct {
			Plan    string `json:"plan"`
			Actions []struct {
				Action string `json:"action"`
			} `json:"actions"`
		} `json:"data"`
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return instance.AppliedFailed, problemLines(err)
	}
	counts := make(map[string]int)
	for _, one := range answer.Data.Actions {
		counts[one.Action]++
	}
	at := a.now().UTC()
	a.outcome.Project, a.outcome.Plan, a.outcome.AppliedAt = project, answer.Data.Plan, &at
	a.outcome.Changes = counts["create"] + counts["change"] + counts["restore"]
	a.log.InfoContext(ctx, "the definitions are applied", "project", project, "plan", answer.Data.Plan,
		"created", counts["create"], "changed", counts["change"]+counts["restore"], "kept_without_a_file", counts["leave"])
	return instance.AppliedNow, nil
}

// refused explains an answer that is not a success. A mistake in the document has its
// place in the files.
func (a *applier) refused(status int, text []byte, document *manifest.Document) (instance.AppliedState, []string) {
	var said struct {
		Error   string `json:"error"`
		Details struct {
			Errors []struct {
				Path    string `json:"path"`
				Message string `json:"message"`
			} `json:"errors"`
		} `json:"details"`
	}
	if err := json.Unmarshal(text, &said); err != nil || said.Error == "" {
		return instance.AppliedFailed, []string{fmt.Sprintf("the API answers with status %d", status)}
	}
	var problems manifest.Problems
	for _, one := range said.Details.Errors {
		problems = append(problems, document.Explain(one.Path, one.Message))
	}
	if len(problems) > 0 {
		return instance.AppliedInvalid, problemLines(problems.Sorted())
	}
	return instance.AppliedFailed, []string{said.Error}
}

// problemLines are the lines of an error, at most maxProblems.
func problemLines(err error) []string {
	lines := strings.Split(err.Error(), "\n")
	if more := len(lines) - maxProblems; more > 0 {
		lines = append(lines[:maxProblems], fmt.Sprintf("and %d more; `vigil validate -f` shows all", more))
	}
	return lines
}

const maxProblems = 20

// stampOf is a text that differs when a file or a directory below a path does. Links are
// followed, as those of a mounted ConfigMap must be.
func stampOf(path string) string {
	var stamp strings.Builder
	root := path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		root = real
	}
	err := filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a link to nothing, or removed meanwhile
		}
		if err == nil {
			fmt.Fprintf(&stamp, "%s\x00%d\x00%d\n", name, info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
	if err != nil {
		stamp.WriteString(err.Error())
	}
	return stamp.String()
}
