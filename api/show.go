// SPDX-License-Identifier: Apache-2.0

package api

import (
	"net/url"
	"time"

	"github.com/google/uuid"
)

// workflowLinks makes links to the Temporal UI; without its URL there are none.
type workflowLinks struct{ uiURL, namespace string }

// of returns the page of a workflow, of one run when it is known, or null.
func (l workflowLinks) of(workflowID, runID string) *string {
	if l.uiURL == "" {
		return nil
	}
	address := l.uiURL + "/namespaces/" + url.PathEscape(l.namespace) + "/workflows/" + url.PathEscape(workflowID)
	if runID != "" {
		address += "/" + url.PathEscape(runID) + "/history"
	}
	return &address
}

// inUTC shows a time in UTC, or null for none.
func inUTC(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(t.UTC())
}

// instant shows a time in UTC, or null for the zero one.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(t.UTC())
}

// ids shows ids; an empty list when there is none.
func ids(list []uuid.UUID) []string {
	texts := make([]string, 0, len(list))
	for _, id := range list {
		texts = append(texts, id.String())
	}
	return texts
}
