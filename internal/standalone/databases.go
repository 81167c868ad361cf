// SPDX-License-Identifier: Apache-2.0

package standalone

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// maxNameLength is how many bytes of a name Postgres keeps (NAMEDATALEN - 1).
const maxNameLength = 63

// SQLSTATE codes, Postgres documentation, appendix A.
const (
	codeDuplicateDatabase = "42P04"
	codeUniqueViolation   = "23505" // two that create the same database at once
	codeInsufficient      = "42501"
	codeNoDatabase        = "3D000"
	codeBadPassword       = "28P01"
	codeBadAuthorization  = "28000"
)

// TemporalDatabases returns the names of the two databases of the embedded Temporal
// server. They start with the name of the platform's own, so that several platforms, or
// another Temporal cluster, can share one Postgres.
func TemporalDatabases(platform string) (store, visibility string) {
	return platform + "_temporal", platform + "_temporal_visibility"
}

// EnsureDatabases creates the two databases of the embedded Temporal server, if they
// are missing, in the Postgres of dsn. The error is one sentence with the remedy, and
// never contains the password.
func EnsureDatabases(ctx context.Context, dsn string) error {
	config, err := parseDSN(dsn)
	if err != nil {
		return err
	}
	store, visibility := TemporalDatabases(config.Database)
	if len(visibility) > maxNameLength {
		return fmt.Errorf(
			"the database name %q in DATABASE_URL is too long for the databases named after it: choose a name of at most %d characters",
			config.Database, maxNameLength-len(visibility)+len(config.Database),
		)
	}
	return createDatabases(ctx, dsn, []string{store, visibility})
}

// parseDSN parses a connection string. Its error does not repeat the string, which may
// contain a password.
func parseDSN(dsn string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("DATABASE_URL is not a Postgres connection string: write it as postgres://user:password@host:5432/database")
	}
	if config.Database == "" {
		config.Database = config.User // as libpq does
	}
	return config, nil
}

func createDatabases(ctx context.Context, dsn string, names []string) error {
	if len(names) == 0 {
		return nil
	}
	config, err := parseDSN(dsn)
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return unreachable(config, err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	rows, err := conn.Query(ctx, `SELECT datname FROM pg_database WHERE datname = ANY($1)`, names)
	if err != nil {
		return fmt.Errorf("listing the databases of Postgres: %w", err)
	}
	present, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("listing the databases of Postgres: %w", err)
	}
	for _, name := range names {
		if slices.Contains(present, name) {
			continue
		}
		_, err := conn.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
		if err := creationError(config, name, err); err != nil {
			return err
		}
	}
	return nil
}

func creationError(config *pgx.ConnConfig, name string, err error) error {
	if err == nil {
		return nil
	}
	if refusal, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch refusal.Code {
		case codeDuplicateDatabase, codeUniqueViolation:
			return nil
		case codeInsufficient:
			return fmt.Errorf(
				"the user %q of DATABASE_URL may not create the database %q: "+
					"have it created (CREATE DATABASE %s OWNER %s), or allow it (ALTER ROLE %s CREATEDB), "+
					"or set TEMPORAL_ADDRESS to use another Temporal",
				config.User,
				name,
				pgx.Identifier{name}.Sanitize(),
				pgx.Identifier{config.User}.Sanitize(),
				pgx.Identifier{config.User}.Sanitize(),
			)
		}
	}
	return fmt.Errorf("the database %q could not be created: %w", name, err)
}

// unreachable explains a failed connection in one sentence; the driver's own text is
// left out where its meaning is known.
func unreachable(config *pgx.ConnConfig, err error) error {
	where := net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))
	if refusal, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch refusal.Code {
		case codeBadPassword, codeBadAuthorization:
			return fmt.Errorf("Postgres at %s rejects the login of user %q: check the user and the password in DATABASE_URL", where, config.User)
		case codeNoDatabase:
			return fmt.Errorf("Postgres at %s has no database %q: create it, or correct DATABASE_URL", where, config.Database)
		}
	}
	return fmt.Errorf("Postgres at %s cannot be reached (%w): check DATABASE_URL and that the server runs", where, rootCause(err))
}

// rootCause picks the cause from the driver's account of every attempt.
func rootCause(err error) error {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return dns
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	if refusal, ok := errors.AsType[*pgconn.PgError](err); ok {
		return errors.New(refusal.Message)
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(first)
}
