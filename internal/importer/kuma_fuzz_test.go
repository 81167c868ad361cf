// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/vigil-monitor/vigil/internal/importer/importertest"
)

// readsOrRefuses imports a file: it is refused with an error, or what is written is valid and
// every loss is reported.
func readsOrRefuses(t *testing.T, content []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kuma")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	o := options()
	o.Switches = map[string]bool{"as-tcp": true, "certificates": true}
	result, err := source(t, "kuma").Read(path, o)
	if err != nil {
		return
	}
	mentioned(t, write(t, result))
}

// FuzzKumaBackup holds that no JSON makes the import panic or write files that are not valid.
func FuzzKumaBackup(f *testing.F) {
	f.Add(read(f, "testdata/kuma/backup-1.23.16.json"))
	f.Add(`{"monitorList": {"1": {"id": 1, "type": "http", "url": "http://a.b", "headers": "[1]", "accepted_statuscodes": [[], null]}}}`)
	f.Add(`{"monitorList": [{"id": 1, "parent": 1, "type": "group"}, {"id": 2, "parent": 1, "type": "dns", "hostname": "x."}]}`)
	f.Add(`{"notificationList": [{"id": 1, "config": "{\"type\": \"ntfy\", \"ntfytopic\": \"a\", \"ntfyserverurl\": \"http://[::1\"}"}]}`)
	f.Add(`{"notificationList": [], "maintenanceList": [{"strategy": "cron", "cron": "* * * * * *", "monitors": [{"id": 1}]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		readsOrRefuses(t, []byte(text))
	})
}

// FuzzKumaDatabase changes bytes of a database.
func FuzzKumaDatabase(f *testing.F) {
	database := smallDatabase(f)
	f.Add(uint64(1), uint8(1))
	f.Fuzz(func(t *testing.T, seed uint64, changes uint8) {
		readsOrRefuses(t, mutated(database, seed, int(changes)))
	})
}

// TestKumaDamaged imports databases with a few bytes of rubbish, cut ones included.
func TestKumaDamaged(t *testing.T) {
	t.Parallel()
	database := smallDatabase(t)
	for seed := range uint64(60) {
		readsOrRefuses(t, mutated(database, seed, int(seed)))
	}
	for n := 0; n < len(database); n += len(database)/20 + 1 {
		readsOrRefuses(t, database[:n])
	}
}

// smallDatabase returns the sample in pages of 512 bytes.
func smallDatabase(tb testing.TB) []byte {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "small.db")
	db := importertest.OpenDatabase(tb, path)
	importertest.Exec(tb, db, "PRAGMA page_size = 512")
	importertest.CreateTables(tb, db, "2.5.3")
	importertest.Insert(tb, db, importertest.KumaSample())
	if err := db.Close(); err != nil {
		tb.Fatal(err)
	}
	return []byte(read(tb, path))
}

func mutated(database []byte, seed uint64, changes int) []byte {
	random := rand.New(rand.NewPCG(seed, 1))
	changed := bytes.Clone(database)
	for range changes {
		changed[random.IntN(len(changed))] = byte(random.Uint32())
	}
	return changed
}
