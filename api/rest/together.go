// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/vigil-monitor/vigil"
)

// Together returns one error about everything that is wrong with a request, nil for nothing: the
// first of errs with all of them in details.problems, each member once and 20 at most. An error
// that names no member, such as one of the database, is returned alone.
func Together(errs ...error) error {
	var first *vigil.Error
	var problems []problem
	for _, err := range errs {
		if err == nil {
			continue
		}
		found := problemsIn(err)
		if len(found) == 0 {
			return err
		}
		if first == nil {
			first, _ = errors.AsType[*vigil.Error](err)
		}
		problems = joined(problems, found)
	}
	if first == nil {
		return nil
	}
	merged := *first
	merged.Details = maps.Clone(first.Details)
	if len(problems) > 1 {
		merged.Details["problems"] = problems[:min(len(problems), maxProblems)]
	}
	return &merged
}

// Under returns an error about members of a value as one about those of what has it at a path, such as
// rules[0]; see vigil.Beneath.
func Under(path string, err error) error {
	all := problemsIn(err)
	if len(all) < 2 {
		return vigil.Beneath(path, err)
	}
	wrong := make([]error, len(all))
	for i, p := range all {
		wrong[i] = vigil.Invalid(path+"."+p.Member, "%s", p.Message)
	}
	return Together(wrong...)
}

// problemsIn returns the members that an error is about; none when it names no member.
func problemsIn(err error) []problem {
	known, ok := errors.AsType[*vigil.Error](err)
	if !ok {
		return nil
	}
	if all, ok := known.Details["problems"].([]problem); ok {
		return all
	}
	member, _ := known.Details["member"].(string)
	if member == "" {
		return nil
	}
	return []problem{{in: "body", Member: member, Message: strings.TrimPrefix(known.Message, member+": ")}}
}

// joined adds problems to those that are known. What is said of a member already, or of what it is a
// part of, is not said again.
func joined(known, more []problem) []problem {
	for _, p := range more {
		if !slices.ContainsFunc(known, func(one problem) bool { return covers(one.Member, p.Member) || covers(p.Member, one.Member) }) {
			known = append(known, p)
		}
	}
	return known
}

// covers reports whether a member is the other one, or has it.
func covers(member, other string) bool {
	rest, ok := strings.CutPrefix(other, member)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// judged adds to problems of the form of a body what its operation finds wrong with the rest of it.
func judged(ctx context.Context, op *huma.Operation, problems []problem) []problem {
	if op == nil {
		return problems
	}
	judge, _ := op.Metadata[metaJudge].(func(context.Context, []byte) error)
	body := RequestOf(ctx).body
	whole := func(p problem) bool { return p.Member == "body" || p.Member == "" }
	if judge == nil || len(body) == 0 || slices.ContainsFunc(problems, whole) { // nothing of it can be read
		return problems
	}
	return joined(problems, problemsIn(judge(ctx, body)))
}
