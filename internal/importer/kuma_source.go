// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Flags of the import from Uptime Kuma.
const (
	kumaAsTCP        = "as-tcp"
	kumaCertificates = "certificates"
)

// kuma reads the JSON backup of Uptime Kuma 1.x, or the SQLite database of 1.x and 2.x.
func kuma() Source {
	return Source{
		Name:     "kuma",
		Product:  "Uptime Kuma",
		Argument: "kuma.db|FILE.json|FILE.toml|DIRECTORY",
		Short:    "Write the monitors of Uptime Kuma as files of a project",
		Long: "Read the SQLite database of Uptime Kuma 1 or 2 (kuma.db in its data directory), the JSON backup of 1, a JSON list\n" +
			"of monitors, or the JSON and TOML files of AutoKuma, and write monitors, notifications, maintenance and status pages\n" +
			"as files of a project. The database has more than the others. A copy of it is read, so Uptime Kuma may go on running.",
		Example: "  vigil import kuma data/kuma.db -o vigil/\n  vigil import kuma backup.json -o vigil/ --certificates\n" +
			"  vigil import kuma static-monitors/ -o vigil/",
		Switches: []Switch{
			{kumaAsTCP, "for monitors of a type that Vigil lacks, such as mysql, check that their host accepts TCP connections"},
			{kumaCertificates, "for monitors that warn about certificates, add a check of the certificate"},
		},
		Read: readKuma,
	}
}

// sqliteMagic is what a SQLite database begins with.
const sqliteMagic = "SQLite format 3\x00"

// maxKumaBackup bounds a JSON backup, in bytes.
const maxKumaBackup = 32 << 20

// readKuma reads a backup, a database, or a data directory of Uptime Kuma.
func readKuma(path string, o Options) (*Result, error) {
	data, err := readKumaFile(path)
	if err != nil {
		return nil, err
	}
	return importKuma(data, o), nil
}

func readKumaFile(path string) (*kumaData, error) {
	if isMariaDB(path) {
		return nil, errMariaDB()
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() && !hasKumaDatabase(path) {
		return readKumaDirectory(path)
	} else if info.IsDir() {
		if path, err = kumaDatabaseIn(path); err != nil {
			return nil, err
		}
	}
	file, err := os.Open(path) //nolint:gosec // the user names the file
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	head := make([]byte, 4096)
	n, err := io.ReadFull(file, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, err
	}
	switch head = head[:n]; {
	case n == 0:
		return nil, fmt.Errorf("%s is empty", path)
	case bytes.HasPrefix(head, []byte(sqliteMagic)):
		return readKumaDatabase(path)
	case isDump(head):
		return nil, errMariaDB()
	}
	text, err := io.ReadAll(io.LimitReader(io.MultiReader(bytes.NewReader(head), file), maxKumaBackup+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxKumaBackup {
		return nil, fmt.Errorf("%s is larger than %d MiB", path, maxKumaBackup>>20)
	}
	id := fileID(filepath.Base(path))
	if filepath.Ext(path) == ".toml" {
		entities, err := readKumaEntityFile(path, id)
		if err != nil {
			return nil, err
		}
		return readKumaEntities(entities), nil
	}
	return readKumaBackup(id, text)
}

// hasKumaDatabase reports whether a directory is the data directory of Uptime Kuma.
func hasKumaDatabase(dir string) bool {
	return isFile(filepath.Join(dir, "kuma.db")) || isFile(filepath.Join(dir, "db-config.json"))
}

// kumaDatabaseIn returns the database in a data directory of Uptime Kuma.
func kumaDatabaseIn(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "db-config.json")) //nolint:gosec // the user names the directory
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if kind := (kumaRow{"config": string(text)}).object("config").text("type"); kind != "" && kind != "sqlite" {
		return "", errMariaDB()
	}
	path := filepath.Join(dir, "kuma.db")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s has no kuma.db; name the database or the backup of Uptime Kuma", dir)
	}
	return path, nil
}

// isMariaDB reports whether an argument is the address of a database server.
func isMariaDB(path string) bool {
	return strings.HasPrefix(path, "mariadb://") || strings.HasPrefix(path, "mysql://")
}

// isDump reports whether a file begins like a dump of MariaDB or MySQL.
func isDump(head []byte) bool {
	text := string(bytes.TrimSpace(head))
	for _, begin := range []string{"-- MariaDB dump", "-- MySQL dump", "/*M!", "/*!", "-- phpMyAdmin", "CREATE TABLE"} {
		if strings.HasPrefix(text, begin) {
			return true
		}
	}
	return false
}

// errMariaDB says how to get a database that can be read.
func errMariaDB() error {
	return errors.New("this Uptime Kuma keeps its data in MariaDB, which is not read; convert it to SQLite and import the file:\n" +
		"  pip install mysql-to-sqlite3\n" +
		"  mysql2sqlite --mysql-host HOST --mysql-user USER --prompt-mysql-password --mysql-database kuma --sqlite-file kuma.db\n" +
		"  vigil import kuma kuma.db -o vigil/")
}
