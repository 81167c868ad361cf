// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/platform"
	"github.com/vigil-monitor/vigil/storage"
)

// commandStore opens the database for a command that ends soon.
func commandStore(ctx context.Context, s *platform.Settings) (*storage.Store, error) {
	dsn, err := platform.DatabaseURL(s)
	if err != nil {
		return nil, err
	}
	progress := func(what string) { stage(ctx, "%s", what) }
	store, err := storage.Open(ctx, dsn, storage.Options{
		Pooler: s.DatabasePooler, MaxConns: 4, Progress: progress, Results: s.ResultsDatabases,
	})
	if vigil.ErrorCode(err) == vigil.CodeConflict { // it says what to do
		return nil, err
	}
	if err != nil && s.DatabaseURL == "" {
		return nil, fmt.Errorf("the private Postgres of %s does not answer; is `vigil up` running? %w", s.DataDir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("DATABASE_URL leads to no usable database: %w", err)
	}
	return store, nil
}

// withStore opens the database, runs a command's work on it and closes it.
func withStore(ctx context.Context, s *platform.Settings, work func(*storage.Store) error) error {
	store, err := commandStore(ctx, s)
	if err != nil {
		return err
	}
	return errors.Join(work(store), store.Close())
}
