// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/backup"
	"github.com/vigil-monitor/vigil/internal/pgbin"
	"github.com/vigil-monitor/vigil/internal/platform"
	"github.com/vigil-monitor/vigil/internal/standalone"
	"github.com/vigil-monitor/vigil/storage"
)

func newBackupCommand() *cobra.Command {
	var verify bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Back up the databases and the secret key to one file",
		Long: "Back up the databases and the secret key to one new file; - is standard output.\n\n" +
			"The platform may be running or stopped. Without DATABASE_URL the private Postgres of the data directory is\n" +
			"backed up, with Temporal's databases. With DATABASE_URL that database is, and Temporal's beside it when the\n" +
			"platform runs the embedded Temporal; a Temporal cluster of its own (TEMPORAL_ADDRESS) needs a backup of its own,\n" +
			"made before this one, and so do databases that keep results alone (VIGIL_RESULTS_DATABASE_URL).\n\n" +
			"The file contains the secret key and every secret: keep it like a password. It can be encrypted on its way:\n" +
			"vigil backup - | age -r RECIPIENT > FILE",
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			if verify {
				return verifyBackup(cmd, args[0])
			}
			s, err := readSettings(cmd)
			if err != nil {
				return err
			}
			report := cmd.OutOrStdout()
			if args[0] == "-" {
				report = cmd.ErrOrStderr()
			}
			return backUp(cmd, &s, args[0], report)
		},
	}
	cmd.Flags().BoolVar(&verify, "verify", false, "read FILE to its end, compare its checksums and print what it holds")
	return long(cmd, "reading")
}

// oneFile requires the name of a file.
func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s needs one file, or - (got %d words)", cmd.Name(), len(args))
	}
	return nil
}

// verifyBackup reads a backup and prints what it holds.
func verifyBackup(cmd *cobra.Command, file string) error {
	in, err := openBackup(cmd, file)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	manifest, err := backup.Verify(in)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "The backup is complete: %s.\n", describeBackup(&manifest))
	return err
}

// openBackup opens a file, or standard input for "-".
func openBackup(cmd *cobra.Command, file string) (io.ReadCloser, error) {
	if file == "-" {
		return io.NopCloser(cmd.InOrStdin()), nil
	}
	in, err := os.Open(file) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("the backup cannot be opened: %w", err)
	}
	return in, nil
}

func describeBackup(m *backup.Manifest) string {
	var names []string
	for _, database := range m.Databases {
		names = append(names, database.Name)
	}
	return fmt.Sprintf("made at %s by version %s, schema %s, Postgres %d, with the databases %s and the secret key",
		m.Time.UTC().Format(time.RFC3339), m.Version, m.Schema, m.Postgres, strings.Join(names, ", "))
}

// backUp writes a backup to a new file, or to standard output for "-".
func backUp(cmd *cobra.Command, s *platform.Settings, file string, report io.Writer) error {
	ctx, began := cmd.Context(), time.Now()
	near := "" // the system's directory for temporary files
	if file != "-" {
		if _, err := os.Lstat(file); err == nil {
			return fmt.Errorf("%s exists already: choose another name", file)
		}
		near = filepath.Dir(file)
	}
	dir, err := os.MkdirTemp(near, ".vigil-backup-")
	if err != nil {
		return fmt.Errorf("the dumps need a directory beside the backup: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	keys, err := keysToKeep(s)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, backup.KeyFile), []byte(keys+"\n"), 0o600); err != nil {
		return fmt.Errorf("keep the secret key: %w", err)
	}
	manifest, err := dumpAll(cmd, s, dir, report)
	if err != nil {
		return err
	}
	stage(ctx, "writing the backup")
	if file == "-" {
		if err := backup.Write(cmd.OutOrStdout(), manifest, dir); err != nil {
			return err
		}
	} else if err := backup.Create(file, manifest, dir); err != nil {
		return err
	}
	if len(s.SecretKeys) == 0 { // the key in the backup is that of the data directory
		if err := platform.NoteBackup(s.DataDir, file, manifest.Time); err != nil {
			fmt.Fprintf(report, "warning: `vigil doctor` will not know of this backup: %v\n", err)
		}
	}
	_, err = fmt.Fprintf(report, "The backup is written: %s, in %s. It contains the secret key; keep it like a password.\n",
		file, time.Since(began).Round(100*time.Millisecond))
	return err
}

// keysToKeep are the secret keys of the platform, as VIGIL_SECRET_KEY takes them.
func keysToKeep(s *platform.Settings) (string, error) {
	var keys []string
	for _, key := range s.SecretKeys {
		keys = append(keys, hex.EncodeToString(key))
	}
	if len(keys) > 0 {
		return strings.Join(keys, ","), nil
	}
	return existingSecret(s.DataDir).Secret(platform.SecretKeyFile, platform.SecretKeySize)
}

// dumpAll dumps the databases into a directory. Temporal's come first, so that Vigil's,
// which loops are rebuilt from, is the newest. The list of workflows comes after the
// workflows: what it lacks would stay missing, and what it has too early is written again.
func dumpAll(cmd *cobra.Command, s *platform.Settings, dir string, report io.Writer) (backup.Manifest, error) {
	ctx := cmd.Context()
	dsn, stop, err := databaseToDump(ctx, s)
	if err != nil {
		return backup.Manifest{}, err
	}
	defer stop()
	server, err := inspectServer(ctx, dsn, s.DatabasePooler, "the database cannot be backed up")
	if err != nil {
		return backup.Manifest{}, err
	}
	if server.Schema == "" {
		return backup.Manifest{}, fmt.Errorf("the database %s has no schema of Vigil: there is nothing to back up", server.Name)
	}
	program, err := pgbin.Tool(ctx, nil, "pg_dump", server.Major)
	if err != nil {
		return backup.Manifest{}, err
	}
	if err := auditBackup(cmd, dsn, s.DatabasePooler); err != nil {
		fmt.Fprintf(report, "warning: the audit log has no entry of this backup: %v\n", err)
	}
	manifest := backup.Manifest{Version: version, Time: time.Now().UTC().Truncate(time.Second), Postgres: server.Major, Schema: server.Schema}
	all := databasesToDump(s, &server)
	for i, database := range all {
		stage(ctx, "dumping the database %s, %d of %d", database.Name, i+1, len(all))
		file := filepath.Join(dir, database.Role.File())
		if err := backup.Dump(ctx, program, onDatabase(dsn, database.Name), file); err != nil {
			return manifest, fmt.Errorf("the database %s cannot be dumped: %w", database.Name, err)
		}
		info, err := os.Stat(file)
		if err != nil {
			return manifest, err
		}
		manifest.Databases = append(manifest.Databases, database)
		if _, err := fmt.Fprintf(report, "%-32s %6.1f MiB\n", database.Name, float64(info.Size())/(1<<20)); err != nil {
			return manifest, err
		}
	}
	return manifest, nil
}

// auditBackup notes in the audit log that the data of every organization is copied. It may
// fail where a backup succeeds: the schema may be an older one, and the database a replica.
func auditBackup(cmd *cobra.Command, dsn string, pooler storage.Pooler) error {
	store, err := storage.Open(cmd.Context(), dsn, storage.Options{Pooler: pooler, MaxConns: 2})
	if err != nil {
		return err
	}
	return errors.Join(noteOperator(cmd, store, "platform.backup"), store.Close())
}

// inspectServer reads what a database and its server are. refusal begins the error of one
// that cannot be opened.
func inspectServer(ctx context.Context, dsn string, pooler storage.Pooler, refusal string) (storage.Server, error) {
	store, err := storage.Open(ctx, dsn, storage.Options{Pooler: pooler, MaxConns: 2})
	if err != nil {
		return storage.Server{}, fmt.Errorf("%s: %w", refusal, err)
	}
	server, err := store.Server(ctx)
	return server, errors.Join(err, store.Close())
}

// databaseToDump returns the connection string of the platform's database. The private
// Postgres of a platform that is stopped is started until stop.
func databaseToDump(ctx context.Context, s *platform.Settings) (dsn string, stop func(), err error) {
	nothing := func() {}
	if s.DatabaseURL != "" {
		return s.DatabaseURL, nothing, nil
	}
	if _, err := os.Stat(filepath.Join(s.DataDir, standalone.ClusterDir)); err == nil {
		if data, err := standalone.OpenDataDir(s.DataDir); err == nil { // no `vigil up` uses it
			server, err := standalone.StartPostgres(ctx, data, standalone.PostgresOptions{})
			if err != nil {
				_ = data.Close()
				return "", nothing, err
			}
			return server.DSN(platform.Database), func() {
				_ = server.Stop(context.WithoutCancel(ctx)) // it wrote no more than a line of the audit log
				_ = data.Close()
			}, nil
		}
	}
	dsn, err = platform.DatabaseURL(s)
	return dsn, nothing, err
}

// databasesToDump are Temporal's databases, if they belong to this platform, and Vigil's.
func databasesToDump(s *platform.Settings, server *storage.Server) []backup.Database {
	var all []backup.Database
	store, visibility := standalone.TemporalDatabases(server.Name)
	if s.TemporalAddress == "" && slices.Contains(server.Others, store) && slices.Contains(server.Others, visibility) {
		all = append(all, backup.Database{Role: backup.Temporal, Name: store}, backup.Database{Role: backup.Visibility, Name: visibility})
	}
	return append(all, backup.Database{Role: backup.Platform, Name: server.Name})
}

// onDatabase is a connection string for another database of the same server.
func onDatabase(dsn, name string) string {
	parsed, err := url.Parse(dsn)
	if err != nil || parsed.Scheme == "" {
		return dsn + " dbname='" + name + "'" // the last one counts
	}
	parsed.Path = "/" + name
	return parsed.String()
}
