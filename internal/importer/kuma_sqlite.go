// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"modernc.org/sqlite" // also the driver named sqlite: SQLite without C
)

// Limits of what is read of a database.
const (
	maxKumaRows  = 100_000   // of a table
	maxKumaText  = 1 << 20   // bytes of a value
	maxKumaBytes = 256 << 20 // of all texts
	kumaReadTime = 30 * time.Second
)

// readKumaDatabase reads a SQLite database of Uptime Kuma 1.x or 2.x from a copy of it, so
// that a Kuma that runs is not disturbed.
func readKumaDatabase(path string) (*kumaData, error) {
	copied, remove, err := copyDatabase(path)
	if err != nil {
		return nil, err
	}
	defer remove()
	ctx, cancel := context.WithTimeout(context.Background(), kumaReadTime)
	defer cancel()
	// The copy may be written, since SQLite takes over what its journal holds; a statement may not.
	pragmas := url.Values{"_pragma": {"query_only(1)", "trusted_schema(0)", "cell_size_check(1)", "mmap_size(0)"}}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", OmitHost: true, Path: copied, RawQuery: pragmas.Encode()}).String())
	if err != nil {
		return nil, fmt.Errorf("open a copy of %s: %w", path, err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	data, err := (&kumaDB{db: db}).read(ctx)
	switch {
	case isDamaged(err):
		return nil, fmt.Errorf("read %s: the database is damaged; take another copy of it while Uptime Kuma is stopped, "+
			"or repair this one with the command .recover of sqlite3: %w", path, err)
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return data, nil
}

// isDamaged reports whether SQLite says that a file has no valid form.
func isDamaged(err error) bool {
	const corrupt = 11 // SQLITE_CORRUPT; the bits above the lowest eight say more
	known, ok := errors.AsType[*sqlite.Error](err)
	return ok && known.Code()&0xff == corrupt
}

// kumaDB reads tables. A column that a table lacks is absent in its rows, and a table that
// is not there has none: Kuma adds columns all the time.
type kumaDB struct {
	db    *sql.DB
	bytes int // of texts that were read
}

func (k *kumaDB) read(ctx context.Context) (*kumaData, error) {
	switch columns, err := k.columns(ctx, "monitor"); {
	case err != nil:
		return nil, err
	case len(columns) == 0:
		return nil, errors.New("it has no table monitor, so it is no database of Uptime Kuma")
	}
	data := &kumaData{settings: map[string]string{}, others: map[string]int64{}}
	tables := map[string][]kumaRow{}
	for table, columns := range kumaTables() {
		rows, err := k.rows(ctx, table, columns)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", table, err)
		}
		tables[table] = rows
	}
	for _, table := range kumaOtherTables() {
		columns, err := k.columns(ctx, table)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", table, err)
		}
		if len(columns) == 0 {
			continue
		}
		var n int64
		count := "SELECT count(*) FROM (SELECT 1 FROM " + quoted(table) + " LIMIT 1000)"
		if err := k.db.QueryRowContext(ctx, count).Scan(&n); err != nil {
			return nil, fmt.Errorf("table %s: %w", table, err)
		}
		data.others[table] = n
	}
	data.join(tables)
	return data, nil
}

// ordinary refuses what a database has in place of a table: a view can have rows without end,
// and a virtual table runs a program.
func (k *kumaDB) ordinary(ctx context.Context, table string) error {
	var others int
	query := "SELECT count(*) FROM sqlite_master WHERE lower(name) = ? AND (type <> 'table' OR sql LIKE 'CREATE VIRTUAL%')"
	if err := k.db.QueryRowContext(ctx, query, table).Scan(&others); err != nil {
		return err
	}
	if others > 0 {
		return errors.New("it is a view or a virtual table; Uptime Kuma has none, and only tables are read")
	}
	return nil
}

// columns returns the names of the columns that a table has.
func (k *kumaDB) columns(ctx context.Context, table string) (map[string]bool, error) {
	if err := k.ordinary(ctx, table); err != nil {
		return nil, err
	}
	rows, err := k.db.QueryContext(ctx, "SELECT name FROM pragma_table_info(?)", table)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	columns := map[string]bool{}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		columns[strings.ToLower(name)] = true
	}
	return columns, rows.Err()
}

// rows returns the rows of a table with those of the wanted columns that it has.
func (k *kumaDB) rows(ctx context.Context, table string, wanted []string) ([]kumaRow, error) {
	has, err := k.columns(ctx, table)
	if err != nil {
		return nil, err
	}
	var names, columns []string
	for _, name := range wanted {
		if has[name] {
			// With the plus the driver returns what is stored; of a column alone it would make a
			// time or a bool, and Kuma has weights in columns of the type BOOLEAN.
			names, columns = append(names, name), append(columns, "+"+quoted(name))
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	//nolint:gosec // the names are our own, in quotes
	query := fmt.Sprintf("SELECT %s FROM %s LIMIT %d", strings.Join(columns, ", "), quoted(table), maxKumaRows+1)
	rows, err := k.db.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []kumaRow
	for rows.Next() {
		row, err := scanKumaRow(rows, names)
		if err != nil {
			return nil, err
		}
		if all = append(all, row); len(all) > maxKumaRows {
			return nil, fmt.Errorf("it has more than %d rows", maxKumaRows)
		}
		if k.bytes += row.bytes(); k.bytes > maxKumaBytes {
			return nil, fmt.Errorf("its texts are larger than %d MiB", maxKumaBytes>>20)
		}
	}
	return all, rows.Err()
}

func scanKumaRow(rows *sql.Rows, names []string) (kumaRow, error) {
	values, places := make([]any, len(names)), make([]any, len(names))
	for i := range values {
		places[i] = &values[i]
	}
	if err := rows.Scan(places...); err != nil {
		return nil, err
	}
	row := make(kumaRow, len(names)+2)
	for i, name := range names {
		switch value := values[i].(type) {
		case []byte:
			row[name] = string(value[:min(len(value), maxKumaText)])
		case string:
			row[name] = value[:min(len(value), maxKumaText)]
		default:
			row[name] = value
		}
	}
	return row, nil
}

// bytes is how long the texts of a row are.
func (r kumaRow) bytes() (length int) {
	for _, value := range r {
		if text, ok := value.(string); ok {
			length += len(text)
		}
	}
	return length
}

// quoted writes the name of a table or of a column.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
