// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package standalone

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	persistencespb "go.temporal.io/server/api/persistence/v1"
	"go.temporal.io/server/common"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/headers"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence"
	"go.temporal.io/server/common/persistence/serialization"
	"go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/primitives"
	"go.temporal.io/server/common/resolver"
	"go.temporal.io/server/common/searchattribute/sadefs"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/types/known/durationpb"
)

// ensureNamespace writes the namespace, its retention and its search attributes into
// the store before the server starts: through a running one, each change would take
// effect only when every service has reloaded it.
func ensureNamespace(ctx context.Context, db *config.SQL, opts TemporalOptions, logger log.Logger) error {
	serializer := serialization.NewSerializer()
	factory := sql.NewFactory(*db, resolver.NewNoopResolver(), clusterName, logger, metrics.NoopMetricsHandler, serializer)
	defer factory.Close()
	store, err := factory.NewMetadataStore()
	if err != nil {
		return fmt.Errorf("the database %q cannot be opened: %w", db.DatabaseName, err)
	}
	manager := persistence.NewMetadataManagerImpl(store, serializer, logger, clusterName)
	ctx = headers.SetCallerInfo(ctx, headers.SystemBackgroundHighCallerInfo)
	found, err := manager.GetNamespace(ctx, &persistence.GetNamespaceRequest{Name: opts.Namespace})
	if _, missing := errors.AsType[*serviceerror.NamespaceNotFound](err); missing {
		return createNamespace(ctx, manager, opts)
	}
	if err != nil {
		return fmt.Errorf("the Temporal namespace %q cannot be read: %w", opts.Namespace, err)
	}
	return updateNamespace(ctx, manager, found, opts)
}

func createNamespace(ctx context.Context, manager persistence.MetadataManager, opts TemporalOptions) error {
	settings := &persistencespb.NamespaceConfig{
		HistoryArchivalState:    enumspb.ARCHIVAL_STATE_DISABLED,
		VisibilityArchivalState: enumspb.ARCHIVAL_STATE_DISABLED,
	}
	if _, err := updateConfig(settings, opts); err != nil {
		return err
	}
	_, err := manager.CreateNamespace(ctx, &persistence.CreateNamespaceRequest{Namespace: &persistencespb.NamespaceDetail{
		Info: &persistencespb.NamespaceInfo{
			Id:    primitives.NewUUID().String(),
			State: enumspb.NAMESPACE_STATE_REGISTERED,
			Name:  opts.Namespace,
		},
		Config: settings,
		ReplicationConfig: &persistencespb.NamespaceReplicationConfig{
			ActiveClusterName: clusterName,
			Clusters:          []string{clusterName},
		},
		FailoverVersion:             common.EmptyVersion,
		FailoverNotificationVersion: -1,
	}})
	if err != nil {
		return fmt.Errorf("the Temporal namespace %q cannot be created: %w", opts.Namespace, err)
	}
	return nil
}

func updateNamespace(
	ctx context.Context, manager persistence.MetadataManager, found *persistence.GetNamespaceResponse, opts TemporalOptions,
) error {
	changed, err := updateConfig(found.Namespace.Config, opts)
	if err != nil || !changed {
		return err
	}
	meta, err := manager.GetMetadata(ctx)
	if err != nil {
		return fmt.Errorf("the Temporal namespace %q cannot be read: %w", opts.Namespace, err)
	}
	found.Namespace.ConfigVersion++
	err = manager.UpdateNamespace(ctx, &persistence.UpdateNamespaceRequest{
		Namespace:           found.Namespace,
		IsGlobalNamespace:   found.IsGlobalNamespace,
		NotificationVersion: meta.NotificationVersion,
	})
	if err != nil {
		return fmt.Errorf("the Temporal namespace %q cannot be updated: %w", opts.Namespace, err)
	}
	return nil
}

// updateConfig sets retention and search attributes, and reports whether anything
// changed. A search attribute keeps its column; a new one takes the next free one.
func updateConfig(settings *persistencespb.NamespaceConfig, opts TemporalOptions) (changed bool, err error) {
	if settings.GetRetention().AsDuration() != opts.Retention {
		settings.Retention = durationpb.New(opts.Retention)
		changed = true
	}
	if settings.CustomSearchAttributeAliases == nil {
		settings.CustomSearchAttributeAliases = map[string]string{}
	}
	aliases := settings.CustomSearchAttributeAliases
	known := map[string]bool{}
	for _, alias := range aliases {
		known[alias] = true
	}
	columns := keywordColumns()
	for _, name := range opts.SearchAttributes {
		if known[name] {
			continue
		}
		free := slices.IndexFunc(columns, func(column string) bool { return aliases[column] == "" })
		if free < 0 {
			return false, fmt.Errorf(
				"Temporal keeps %d search attributes of type Keyword in Postgres and there is no room for %s", len(columns), name,
			)
		}
		aliases[columns[free]] = name
		changed = true
	}
	return changed, nil
}

// keywordColumns are the columns of the visibility table for Keyword attributes.
func keywordColumns() []string {
	var columns []string
	for column, kind := range sadefs.GetDBIndexSearchAttributes(nil).CustomSearchAttributes {
		if kind == enumspb.INDEXED_VALUE_TYPE_KEYWORD {
			columns = append(columns, column)
		}
	}
	slices.Sort(columns)
	return columns
}

// awaitNamespace waits until the frontend describes the namespace.
func awaitNamespace(ctx context.Context, address, namespace string, secure credentials.TransportCredentials) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(secure))
	if err != nil {
		return fmt.Errorf("the embedded Temporal server cannot be reached: %w", err)
	}
	defer func() { _ = conn.Close() }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		_, err := workflowservice.NewWorkflowServiceClient(conn).DescribeNamespace(ctx,
			&workflowservice.DescribeNamespaceRequest{Namespace: namespace})
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the embedded Temporal server does not answer: %w", err)
		case <-tick.C:
		}
	}
}
