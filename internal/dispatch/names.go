// SPDX-License-Identifier: Apache-2.0

package dispatch

import (
	"context"
	"log/slog"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

const (
	// namesTimeout bounds the question whether the namespace has the attribute, and
	// namesRetry is how long the answer no is believed.
	namesTimeout = 2 * time.Second
	namesRetry   = time.Minute
)

// Names decides whether the names of checks are shown in the search attribute
// AttributeCheckName. A namespace that was set up without it lacks it, and the
// server refuses a workflow with an attribute that it does not know. Nil shows no names.
type Names struct {
	temporal  client.Client
	namespace string
	log       *slog.Logger
	now       func() time.Time

	mu    sync.Mutex
	shown bool
	next  time.Time // when the namespace is looked at again
}

// NewNames returns Names that look at the namespace of the client.
func NewNames(temporal client.Client, namespace string, now func() time.Time, log *slog.Logger) *Names {
	return &Names{temporal: temporal, namespace: namespace, now: now, log: log}
}

// Shown reports whether names are shown.
func (n *Names) Shown(ctx context.Context) bool {
	if n == nil {
		return false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.shown || n.now().Before(n.next) {
		return n.shown
	}
	ctx, cancel := context.WithTimeout(ctx, namesTimeout)
	defer cancel()
	listed, err := n.temporal.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: n.namespace})
	n.shown = err == nil && listed.GetCustomAttributes()[AttributeCheckName] == enumspb.INDEXED_VALUE_TYPE_KEYWORD
	if !n.shown {
		if n.next.IsZero() {
			n.log.InfoContext(ctx, "workflows do not show the names of checks; `vigil temporal setup` adds the search attribute",
				"attribute", AttributeCheckName, "error", err)
		}
		n.next = n.now().Add(namesRetry)
	}
	return n.shown
}

// named adds the name of a check to the attributes of its workflow, if names are shown.
func (n *Names) named(ctx context.Context, attributes temporal.SearchAttributes, name string) temporal.SearchAttributes {
	if name == "" || !n.Shown(ctx) {
		return attributes
	}
	return temporal.NewSearchAttributes(attributes.Copy(), temporal.NewSearchAttributeKeyKeyword(AttributeCheckName).ValueSet(name))
}
