// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// State says how one part is.
type State string

// The states. OK may have remedies too: advice that nothing needs yet.
const (
	OK   State = "ok"
	Warn State = "warn" // it works, and something will go wrong or is left out
	Fail State = "fail" // it does not work
)

// Finding is what was found out about one part.
type Finding struct {
	Part    string `json:"part"` // such as "regions"
	State   State  `json:"state"`
	Message string `json:"message"`
	// Remedies are commands to paste, alternatives to each other.
	Remedies []string `json:"remedies,omitempty"`
}

// Probe looks at one part.
type Probe struct {
	Part string
	// Look returns what it found; nothing when the part is not in use, or when what it
	// depends on does not work, which another probe reports.
	Look func(ctx context.Context) []Finding
}

// Report is everything that was found.
type Report struct {
	Findings []Finding `json:"findings"`
	Problems int       `json:"problems"` // findings with the state fail
	Warnings int       `json:"warnings"`
}

// Examine runs all probes side by side and returns their findings in the order of the
// probes. A probe that takes longer than the bound is a finding itself, and is left behind.
func Examine(ctx context.Context, probes []Probe, bound time.Duration) Report {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	found := make([][]Finding, len(probes))
	var wait sync.WaitGroup
	for i, probe := range probes {
		wait.Go(func() { found[i] = probe.within(ctx, bound) })
	}
	wait.Wait()
	report := Report{Findings: []Finding{}}
	for _, some := range found {
		for _, one := range some {
			report.add(one)
		}
	}
	return report
}

// within runs a probe until ctx ends.
func (p Probe) within(ctx context.Context, bound time.Duration) []Finding {
	looked := make(chan []Finding, 1)
	go func() { looked <- p.Look(ctx) }()
	select {
	case found := <-looked:
		return found
	case <-ctx.Done():
	}
	select { // both may be ready
	case found := <-looked:
		return found
	default:
		return []Finding{{Part: p.Part, State: Warn, Message: fmt.Sprintf("not known: no answer within %s", bound)}}
	}
}

func (r *Report) add(one Finding) {
	switch one.State {
	case Fail:
		r.Problems++
	case Warn:
		r.Warnings++
	case OK:
	}
	r.Findings = append(r.Findings, one)
}

// leastSecret is the length of the shortest text that Hide replaces: a shorter one would
// hide words of the report as well.
const leastSecret = 4

// Hide replaces credentials in the texts of the report.
func (r *Report) Hide(credentials []string) {
	var pairs []string
	for _, credential := range credentials {
		if len(credential) >= leastSecret {
			pairs = append(pairs, credential, "***")
		}
	}
	hide := strings.NewReplacer(pairs...)
	for i := range r.Findings {
		one := &r.Findings[i]
		one.Message = hide.Replace(one.Message)
		for j := range one.Remedies {
			one.Remedies[j] = hide.Replace(one.Remedies[j])
		}
	}
}

// Summary is the last line of a report: how many problems and warnings it has.
func (r *Report) Summary() string {
	if r.Problems+r.Warnings == 0 {
		return "Everything is fine."
	}
	var parts []string
	if r.Problems > 0 {
		parts = append(parts, count(r.Problems, "problem"))
	}
	if r.Warnings > 0 {
		parts = append(parts, count(r.Warnings, "warning"))
	}
	return strings.Join(parts, ", ") + "."
}

// count writes a number of things.
func count[N int | int64](n N, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// short writes a duration in two units at most.
func short(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 2*day:
		return fmt.Sprintf("%d days", d/day)
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", d/time.Hour)
	case d >= 2*time.Minute:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	if d > time.Second {
		d = d.Round(time.Second)
	}
	return d.Round(time.Millisecond).String()
}
