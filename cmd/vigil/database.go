package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"vigil/storage"
)

// databaseFile is where `vigil up` notes the address of its private Postgres, so
// that other commands find it. It holds the password and is the user's alone.
const databaseFile = "database.url"

// noteDatabase writes the address of the private Postgres into the data
// directory.
func noteDatabase(dataDir, dsn string) error {
	path := filepath.Join(dataDir, databaseFile)
	draft := path + ".new"
	if err := os.WriteFile(draft, []byte(dsn+"\n"), 0o600); err != nil {
		return fmt.Errorf("note the address of the database: %w", err)
	}
	if err := os.Rename(draft, path); err != nil {
		return fmt.Errorf("note the address of the database: %w", err)
	}
	return nil
}

// databaseURL is that of the settings, else that of the private Postgres.
func databaseURL(s *settings) (string, error) {
	if s.DatabaseURL != "" {
		return s.DatabaseURL, nil
	}
	path := filepath.Join(s.DataDir, databaseFile)
	text, err := os.ReadFile(path) //nolint:gosec // the operator names the directory
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("there is no database yet in %s; start `vigil up` first, or set DATABASE_URL or VIGIL_DATA_DIR", s.DataDir)
	case err != nil:
		return "", fmt.Errorf("the address of the database cannot be read (%w); run this as the user who runs `vigil up`, or set DATABASE_URL", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// openStore opens the database for a command that ends soon.
func openStore(ctx context.Context, s *settings) (*storage.Store, error) {
	dsn, err := databaseURL(s)
	if err != nil {
		return nil, err
	}
	store, err := storage.Open(ctx, dsn, storage.Options{MaxConns: 4})
	if err != nil && s.DatabaseURL == "" {
		return nil, fmt.Errorf("the private Postgres of %s does not answer; is `vigil up` running? %w", s.DataDir, err)
	}
	if err != nil {
		return nil, fmt.Errorf("DATABASE_URL leads to no usable database: %w", err)
	}
	return store, nil
}

// withStore runs a command's work on the database.
func withStore(ctx context.Context, s *settings, work func(*storage.Store) error) error {
	store, err := openStore(ctx, s)
	if err != nil {
		return err
	}
	return errors.Join(work(store), store.Close())
}
