// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

func newRestoreCommand() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Restore a backup into an empty data directory",
		Long: "Restore a backup that `vigil backup` made into an empty data directory; - is standard input. The file is read\n" +
			"to its end and checked before anything is changed. `vigil up` must not be running on the directory.\n\n" +
			"With DATABASE_URL the platform's database is restored into that database, which must be empty, and Temporal's\n" +
			"beside it when the backup has them; VIGIL_SECRET_KEY must be that of the backup.\n\n" +
			"A database that was restored with other tools needs `vigil restored` instead.",
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := readSettings(cmd)
			if err != nil {
				return err
			}
			in, err := openBackup(cmd, args[0])
			if err != nil {
				return err
			}
			defer func() { _ = in.Close() }()
			r := &restore{settings: &s, force: force, report: cmd.OutOrStdout()}
			if s.DatabaseURL != "" {
				return r.intoServer(cmd.Context(), args[0], in)
			}
			return standalone.ExplainFull(r.settings.DataDir, r.intoDataDir(cmd.Context(), args[0], in))
		},
	}
	cmd.Flags().BoolVar(&force, "force", false,
		"restore into a data directory that is in use by no process and not empty; what it holds is moved aside, not deleted")
	return long(cmd, "reading the backup")
}

// restore is a restore in progress.
type restore struct {
	settings *platform.Settings
	force    bool
	report   io.Writer
	manifest backup.Manifest
	keys     string
	dir      string // of the extracted files
}

const (
	// draftDir is where a restore prepares the data directory.
	draftDir = "restore.new"
)

// restoredFiles are what a restore puts into a data directory, in this order: the cluster
// comes last, because a directory that has it is complete.
func restoredFiles() []string {
	return []string{platform.SecretKeyFile, "postgres.password", "postgres.port", platform.DatabaseFile, standalone.ClusterDir}
}

// intoDataDir restores into the data directory. Everything is prepared in a directory of
// its own, and put in place when it is complete.
func (r *restore) intoDataDir(ctx context.Context, file string, in io.Reader) error {
	data, err := standalone.OpenDataDir(r.settings.DataDir)
	if err != nil {
		return err
	}
	defer func() { _ = data.Close() }()
	if err := r.refuseUsed(data.Path()); err != nil {
		return err
	}
	draft := filepath.Join(data.Path(), draftDir)
	if err := errors.Join(os.RemoveAll(draft), os.Mkdir(draft, 0o700)); err != nil {
		return fmt.Errorf("the data directory cannot be written to: %w", err)
	}
	defer func() { _ = os.RemoveAll(draft) }()
	if err := r.extract(file, in, filepath.Join(draft, "files")); err != nil {
		return err
	}
	several := strings.Contains(r.keys, ",") // a data directory holds one
	if several {
		if err := r.refuseOtherKey(); err != nil {
			return err
		}
	}
	if err := r.buildCluster(ctx, draft); err != nil {
		return err
	}
	if !several {
		if err := os.WriteFile(filepath.Join(draft, platform.SecretKeyFile), []byte(r.keys+"\n"), 0o600); err != nil {
			return fmt.Errorf("store the secret key: %w", err)
		}
	}
	if err := r.putInPlace(data.Path(), draft); err != nil {
		return err
	}
	if !several { // the backup has the key of the data directory
		if err := platform.NoteBackup(data.Path(), file, r.manifest.Time); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(r.report, "%d databases and the secret key are restored in %s. Start it with `%s`.\n",
		len(r.manifest.Databases), data.Path(), startCommand(data.Path()))
	return err
}

// refuseUsed refuses a directory that holds a platform, unless forced.
func (r *restore) refuseUsed(dir string) error {
	for _, name := range []string{standalone.ClusterDir, platform.SecretKeyFile} {
		_, err := os.Lstat(filepath.Join(dir, name))
		if err == nil && !r.force {
			return fmt.Errorf("the data directory %s is not empty: choose another one with VIGIL_DATA_DIR, "+
				"or --force to move what it holds aside", dir)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the data directory cannot be read: %w", err)
		}
	}
	return nil
}

// extract reads the whole backup into a directory and checks that this version can
// restore it.
func (r *restore) extract(file string, in io.Reader, dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("extract the backup: %w", err)
	}
	manifest, err := backup.Extract(in, dir)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	keys, err := os.ReadFile(filepath.Join(dir, backup.KeyFile)) //nolint:gosec // a fixed name in our own directory
	if err != nil {
		return fmt.Errorf("read the secret key: %w", err)
	}
	r.manifest, r.keys, r.dir = manifest, strings.TrimSpace(string(keys)), dir
	newest, err := storage.NewestSchema()
	if err != nil {
		return err
	}
	switch {
	case !manifest.Has(backup.Platform):
		return fmt.Errorf("%s has no database of Vigil", file)
	case storage.BeforeBaseline(manifest.Schema):
		return fmt.Errorf("the backup has the schema %s, which is from before the baseline: restore it with version %s of vigil, "+
			"save its definitions with `vigil export` there, and load them with `vigil apply` of this version",
			manifest.Schema, manifest.Version)
	case manifest.Schema > newest:
		return fmt.Errorf("the backup has the schema %s and this version knows up to %s: restore it with version %s of vigil or a newer one",
			manifest.Schema, newest, manifest.Version)
	}
	_, err = fmt.Fprintf(r.report, "The backup is complete: %s.\n", describeBackup(&manifest))
	return err
}

// buildCluster makes a private Postgres in a directory and loads the databases.
func (r *restore) buildCluster(ctx context.Context, dir string) error {
	data, err := standalone.OpenDataDir(dir)
	if err != nil {
		return err
	}
	defer func() { _ = data.Close() }()
	server, err := standalone.StartPostgres(ctx, data, standalone.PostgresOptions{Databases: platform.Databases()})
	if err != nil {
		return err
	}
	if server.Version() < r.manifest.Postgres {
		err = fmt.Errorf("the backup is of Postgres %d and Postgres %d was found: install Postgres %d or newer",
			r.manifest.Postgres, server.Version(), r.manifest.Postgres)
	} else {
		err = r.load(ctx, server.Version(), platform.Database, server.DSN)
	}
	return errors.Join(err, server.Stop(context.WithoutCancel(ctx)))
}

// load loads the dumps into the empty databases of a platform, and prepares the
// platform's for being older than Temporal.
func (r *restore) load(ctx context.Context, major int, platform string, dsn func(name string) string) error {
	program, err := pgbin.Tool(ctx, nil, "pg_restore", major)
	if err != nil {
		return err
	}
	store, visibility := standalone.TemporalDatabases(platform)
	names := map[backup.Role]string{backup.Platform: platform, backup.Temporal: store, backup.Visibility: visibility}
	for i, database := range r.manifest.Databases {
		stage(ctx, "restoring the database %s, %d of %d", names[database.Role], i+1, len(r.manifest.Databases))
		began := time.Now()
		if err := backup.Load(ctx, program, dsn(names[database.Role]), filepath.Join(r.dir, database.Role.File())); err != nil {
			return fmt.Errorf("the database %s cannot be restored: %w", names[database.Role], err)
		}
		took := time.Since(began).Round(100 * time.Millisecond)
		if _, err := fmt.Fprintf(r.report, "%-32s restored in %s\n", names[database.Role], took); err != nil {
			return err
		}
	}
	stage(ctx, "migrating the database %s", platform)
	return prepareStore(ctx, dsn(platform), r.settings.DatabasePooler)
}

// prepareStore migrates a restored database and has everything go on from its rows.
func prepareStore(ctx context.Context, dsn string, pooler storage.Pooler) error {
	store, err := storage.Open(ctx, dsn, storage.Options{Pooler: pooler, MaxConns: 4})
	if err != nil {
		return err
	}
	_, err = store.Migrate(ctx)
	if err == nil {
		err = store.Restored(ctx)
	}
	return errors.Join(err, store.Close())
}

// putInPlace moves the prepared files into the data directory, and what was there aside.
func (r *restore) putInPlace(dir, draft string) error {
	aside := filepath.Join(dir, "replaced-"+time.Now().UTC().Format("20060102T150405Z"))
	for _, name := range restoredFiles() {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			continue
		}
		if err := os.MkdirAll(aside, 0o700); err != nil {
			return fmt.Errorf("move the old data aside: %w", err)
		}
		if err := os.Rename(filepath.Join(dir, name), filepath.Join(aside, name)); err != nil {
			return fmt.Errorf("move the old data aside: %w", err)
		}
	}
	if _, err := os.Lstat(aside); err == nil {
		if _, err := fmt.Fprintf(r.report, "What the directory held is in %s.\n", aside); err != nil {
			return err
		}
	}
	for _, name := range restoredFiles() {
		err := os.Rename(filepath.Join(draft, name), filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("put the restored data in place: %w", err)
		}
	}
	return nil
}

// intoServer restores into the database of DATABASE_URL.
func (r *restore) intoServer(ctx context.Context, file string, in io.Reader) error {
	dir, err := os.MkdirTemp("", "vigil-restore-")
	if err != nil {
		return fmt.Errorf("extract the backup: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := r.extract(file, in, filepath.Join(dir, "files")); err != nil {
		return err
	}
	if err := r.refuseOtherKey(); err != nil {
		return err
	}
	dsn := r.settings.DatabaseURL
	server, err := inspectServer(ctx, dsn, r.settings.DatabasePooler, "DATABASE_URL leads to no usable database")
	if err != nil {
		return err
	}
	switch {
	case server.HasTable:
		return fmt.Errorf("the database %s is not empty: create a new one and set DATABASE_URL to it", server.Name)
	case server.Major < r.manifest.Postgres:
		return fmt.Errorf("the backup is of Postgres %d and the server is Postgres %d: restore into a server of that version or newer",
			r.manifest.Postgres, server.Major)
	}
	if r.settings.TemporalAddress != "" { // it has a backup of its own
		r.manifest.Databases = slices.DeleteFunc(r.manifest.Databases, func(d backup.Database) bool { return d.Role != backup.Platform })
	}
	if r.manifest.Has(backup.Temporal) {
		if err := standalone.EnsureDatabases(ctx, dsn); err != nil {
			return err
		}
	}
	if err := r.load(ctx, server.Major, server.Name, func(name string) string { return onDatabase(dsn, name) }); err != nil {
		return err
	}
	_, err = fmt.Fprintf(
		r.report,
		"%d databases are restored. Start the platform with the same DATABASE_URL and VIGIL_SECRET_KEY.\n",
		len(r.manifest.Databases),
	)
	return err
}

// refuseOtherKey refuses keys that cannot open the secrets of the backup.
func (r *restore) refuseOtherKey() error {
	first, _, _ := strings.Cut(r.keys, ",")
	for _, key := range r.settings.SecretKeys {
		if hex.EncodeToString(key) == first {
			return nil
		}
	}
	own, err := existingSecret(r.settings.DataDir).Secret(platform.SecretKeyFile, platform.SecretKeySize)
	if err == nil && len(r.settings.SecretKeys) == 0 && own == first {
		return nil
	}
	return fmt.Errorf("the secrets in the backup were sealed with another key: set VIGIL_SECRET_KEY to that of the backup (tar -xOf FILE %s)",
		backup.KeyFile)
}
