// SPDX-License-Identifier: Apache-2.0

package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/vigil-monitor/vigil/internal/timing"
)

// A change of a namespace reaches every host of a cluster after some seconds, since
// each of them caches it.
const (
	namespaceTimeout      = 60 * time.Second
	namespacePollInterval = 500 * time.Millisecond
)

// Preparation reports what PrepareNamespace changed.
type Preparation struct {
	Created    bool     // the namespace was missing
	Retention  bool     // its retention differed
	Attributes []string // search attributes that were missing
}

// PrepareNamespace creates or updates a namespace for Vigil: its retention of closed
// workflows, and the search attributes. It may be repeated, and returns once the
// server reports all of it.
func PrepareNamespace(ctx context.Context, temporal client.Client, namespace string, retention time.Duration) (Preparation, error) {
	ctx, cancel := context.WithTimeout(ctx, namespaceTimeout)
	defer cancel()
	var done Preparation
	service := temporal.WorkflowService()
	found, err := service.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	_, missing := errors.AsType[*serviceerror.NamespaceNotFound](err)
	switch {
	case missing:
		_, err = service.RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
			Namespace: namespace, WorkflowExecutionRetentionPeriod: durationpb.New(retention),
		})
		done.Created = err == nil
		if _, exists := errors.AsType[*serviceerror.NamespaceAlreadyExists](err); exists {
			err = nil // another process created it
		}
	case err == nil && found.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration() != retention:
		_, err = service.UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{
			Namespace: namespace, Config: &namespacepb.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(retention)},
		})
		done.Retention = err == nil
	}
	if err != nil {
		return done, fmt.Errorf("prepare the namespace %q: %w", namespace, err)
	}
	done.Attributes, err = prepareAttributes(ctx, temporal, namespace)
	return done, err
}

// prepareAttributes adds the missing search attributes and waits until they exist.
func prepareAttributes(ctx context.Context, temporal client.Client, namespace string) (added []string, err error) {
	for {
		listed, err := temporal.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
		if err == nil {
			missing, wrong := missingAttributes(listed.GetCustomAttributes())
			switch {
			case wrong != nil:
				return added, wrong
			case len(missing) == 0:
				return added, nil
			case added == nil:
				_, err = temporal.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
					Namespace: namespace, SearchAttributes: missing,
				})
				if err == nil {
					added = namesOf(missing)
				}
			}
		}
		// A new namespace is not known to every host yet.
		if _, unknown := errors.AsType[*serviceerror.NamespaceNotFound](err); err != nil && !unknown {
			return added, fmt.Errorf("prepare the search attributes of %q: %w", namespace, err)
		}
		if end := timing.Sleep(ctx, namespacePollInterval); end != nil {
			return added, fmt.Errorf("the search attributes of %q did not appear within %s: %w", namespace, namespaceTimeout, errors.Join(end, err))
		}
	}
}

// missingAttributes returns the search attributes that a namespace lacks. One of another type cannot be
// changed, so that the namespace cannot be used.
func missingAttributes(there map[string]enumspb.IndexedValueType) (map[string]enumspb.IndexedValueType, error) {
	missing := make(map[string]enumspb.IndexedValueType)
	for _, name := range SearchAttributes() {
		kind, ok := there[name]
		switch {
		case !ok:
			missing[name] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
		case kind != enumspb.INDEXED_VALUE_TYPE_KEYWORD:
			return nil, fmt.Errorf("the search attribute %s has the type %s and must be Keyword; use another namespace", name, kind)
		}
	}
	return missing, nil
}

// namesOf keeps the order of SearchAttributes.
func namesOf(attributes map[string]enumspb.IndexedValueType) []string {
	var names []string
	for _, name := range SearchAttributes() {
		if _, ok := attributes[name]; ok {
			names = append(names, name)
		}
	}
	return names
}

// Namespace is what a Temporal has of a platform.
type Namespace struct {
	Missing    bool
	Retention  time.Duration // of closed workflows
	Attributes []string      // search attributes that are missing
}

// InspectNamespace reads a namespace without changing it.
func InspectNamespace(ctx context.Context, temporal client.Client, namespace string) (Namespace, error) {
	described, err := temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	if _, missing := errors.AsType[*serviceerror.NamespaceNotFound](err); missing {
		return Namespace{Missing: true}, nil
	}
	if err != nil {
		return Namespace{}, fmt.Errorf("describe the namespace %q: %w", namespace, err)
	}
	found := Namespace{Retention: described.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()}
	listed, err := temporal.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return found, fmt.Errorf("list the search attributes of %q: %w", namespace, err)
	}
	missing, err := missingAttributes(listed.GetCustomAttributes())
	found.Attributes = namesOf(missing)
	return found, err
}
