// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"net/url"
	"time"

	"github.com/google/uuid"
)

// WorkflowLinks makes links to the Temporal UI; without its URL there are none.
type WorkflowLinks struct{ UIURL, Namespace string }

// Of returns the page of a workflow, of one run when it is known, or null.
func (l WorkflowLinks) Of(workflowID, runID string) *string {
	if l.UIURL == "" {
		return nil
	}
	address := l.UIURL + "/namespaces/" + url.PathEscape(l.Namespace) + "/workflows/" + url.PathEscape(workflowID)
	if runID != "" {
		address += "/" + url.PathEscape(runID) + "/history"
	}
	return &address
}

// InUTC shows a time in UTC, or null for none.
func InUTC(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(t.UTC())
}

// Instant shows a time in UTC, or null for the zero one.
func Instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}

// IDs shows ids; an empty list when there is none.
func IDs(list []uuid.UUID) []string {
	texts := make([]string, 0, len(list))
	for _, id := range list {
		texts = append(texts, id.String())
	}
	return texts
}
