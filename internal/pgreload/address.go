// SPDX-License-Identifier: Apache-2.0

package pgreload

import (
	"errors"
	"log/slog"

	"github.com/jackc/pgx/v5"

	"github.com/vigil-monitor/vigil/internal/reload"
)

// Address reads the address of a database with the files that it names or that are at their default places: certificates,
// keys, authorities, passwords, services. What leads to another server or user, or protects a connection less than at the
// start, counts as files that cannot be used. Errors are without the address.
func Address(what, dsn string, log *slog.Logger) (*reload.Value[*pgx.ConnConfig], error) {
	var first *pgx.ConnConfig
	return reload.New(what, log, func() (*pgx.ConnConfig, error) {
		now, err := pgx.ParseConfig(dsn)
		switch cause := errors.Unwrap(err); {
		case cause != nil:
			return nil, cause
		case err != nil:
			return nil, err
		case first == nil:
			first = now
			return now, nil
		default:
			return now, lost(first, now)
		}
	})
}

func lost(before, now *pgx.ConnConfig) error {
	if before.Host != now.Host || before.Port != now.Port || before.User != now.User || len(before.Fallbacks) != len(now.Fallbacks) {
		return errors.New("they lead to another server or user, which needs a restart")
	}
	err := reload.Lost(before.TLSConfig, now.TLSConfig)
	for i, one := range before.Fallbacks {
		other := now.Fallbacks[i]
		if one.Host != other.Host || one.Port != other.Port {
			return errors.New("they lead to another server, which needs a restart")
		}
		err = errors.Join(err, reload.Lost(one.TLSConfig, other.TLSConfig))
	}
	return err
}
