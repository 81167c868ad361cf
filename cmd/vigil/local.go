// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/cmd/vigil/cli"
	"github.com/vigil-monitor/vigil/internal/account"
	"github.com/vigil-monitor/vigil/internal/audit"
	"github.com/vigil-monitor/vigil/internal/platform"
	"github.com/vigil-monitor/vigil/storage"
)

// dataDir is the data directory of an instance on this machine, for the client commands.
func dataDir() string {
	if dir := os.Getenv("VIGIL_DATA_DIR"); dir != "" {
		if absolute, err := filepath.Abs(dir); err == nil {
			return absolute
		}
	}
	return defaultDataDir()
}

// localKey makes an API key of the operator's organization in the database of the
// instance with a data directory.
func localKey(ctx context.Context, dir, name string, scopes []string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("the data directory: %w", err)
	}
	s := platform.Settings{DataDir: dir, DatabaseURL: os.Getenv("DATABASE_URL"), DatabasePooler: storage.PoolerAuto}
	plain := ""
	err = withStore(ctx, &s, func(store *storage.Store) (err error) {
		plain, err = operatorKey(ctx, store, name, scopes)
		return err
	})
	if errors.Is(err, os.ErrPermission) {
		return "", fmt.Errorf("%s belongs to the user %s: run this as that user, or give a key with --with-key", dir, platform.OwnerOf(dir))
	}
	return plain, err
}

// operatorKey adds a key to the operator's account.
func operatorKey(ctx context.Context, store *storage.Store, name string, scopes []string) (string, error) {
	operator, err := store.Operator(ctx)
	if err != nil {
		return "", fmt.Errorf("look for the operator's account: %w", err)
	}
	plain, kept, err := api.NewKey(name)
	if err != nil {
		return "", err
	}
	if len(scopes) > 0 {
		if kept.Scopes, err = account.ParseScopes("--scopes", scopes); err != nil {
			return "", err
		}
	}
	entry := &audit.Entry{OrgID: operator.OrgID, Action: "api_key.create", ResourceID: uuid.Nil, UserAgent: "vigil login"}
	_, err = store.CreateKey(audit.NewContext(ctx, entry), operator.OrgID, operator.ID, kept)
	return plain, err
}

// saveLocalContext logs the user of this machine in with the first key, and returns the
// name of the context; "" when one exists or it cannot be saved.
func saveLocalContext(sum platform.Summary, log *slog.Logger) string {
	name, err := cli.SaveLocal(sum.APIURL, sum.APIKey, sum.DataDir)
	if err != nil {
		log.Warn("the API key is not saved for the client commands; `vigil login` makes another", "error", err)
	}
	return name
}
