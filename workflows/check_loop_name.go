// SPDX-License-Identifier: Apache-2.0

package workflows

import (
	"fmt"
	"strings"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/vigil-monitor/vigil/activities"
)

// AttributeCheckName is the search attribute with the name of a check, by which operators
// find its workflows. Not every workflow has it.
const AttributeCheckName = "VigilCheckName"

// observeName keeps the name that a turn has read. It does not stay in the plan, which
// the next run would carry along.
func (l *checkLoop) observeName(result *activities.TurnResult) {
	if result.Name != "" || result.Nameless {
		l.name, l.nameless = result.Name, result.Nameless
		result.Name, result.Nameless = "", false
	}
}

// renamed reports whether the run shows an earlier name of the check, or one that it must
// not show. It then continues as new. A loop that shows none begins to when its history is long
// enough to continue as new.
func (l *checkLoop) renamed() bool {
	return l.in.Name != "" && (l.nameless || l.name != "" && l.name != l.in.Name)
}

// showName sets the search attribute for the next run.
func (l *checkLoop) showName(ctx workflow.Context) error {
	attribute := temporal.NewSearchAttributeKeyKeyword(AttributeCheckName)
	change := attribute.ValueSet(l.name)
	switch {
	case l.nameless && l.in.Name != "":
		change = attribute.ValueUnset()
	case l.name == "" || l.name == l.in.Name:
		return nil
	}
	if err := workflow.UpsertTypedSearchAttributes(ctx, change); err != nil {
		return fmt.Errorf("show the name of the check: %w", err)
	}
	if target, ok := strings.CutPrefix(l.in.Label, l.in.Name); ok && l.in.Name != "" && !l.nameless {
		l.in.Label = l.name + target
	}
	l.in.Name = l.name
	return nil
}
