// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// Limits of the files of AutoKuma.
const (
	maxKumaTOML      = 128 << 10
	maxKumaTOMLDepth = 100
	maxKumaFiles     = 10_000   // of a directory
	maxKumaFileBytes = 64 << 20 // of all of them
)

// readKumaTOML reads a file of AutoKuma, which is one entity.
func readKumaTOML(path string) (any, error) {
	text, err := readBounded(path, maxKumaBackup)
	if err != nil {
		return nil, err
	}
	if len(text) > maxKumaTOML {
		return nil, fmt.Errorf("%s: is larger than %d KiB", path, maxKumaTOML>>10)
	}
	depth := 0
	for _, char := range text {
		switch char {
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(depth-1, 0)
		}
		if depth > maxKumaTOMLDepth {
			return nil, fmt.Errorf("%s: nests too deep", path)
		}
	}
	table := map[string]any{}
	if err := toml.Unmarshal(text, &table); err != nil {
		// The error itself shows the line, which may hold a password.
		if wrong := (*toml.DecodeError)(nil); errors.As(err, &wrong) {
			line, _ := wrong.Position()
			return nil, fmt.Errorf("%s:%d: is not TOML", path, line)
		}
		return nil, fmt.Errorf("%s: is not TOML", path)
	}
	encoded, err := json.Marshal(table) // in the types of JSON
	if err != nil {
		return nil, fmt.Errorf("%s: has a number that is not finite", path)
	}
	value, err := decodeJSON(encoded)
	if err != nil { // the decoder bounds the depth, which dotted keys add to
		return nil, fmt.Errorf("%s: nests too deep", path)
	}
	return value, nil
}

// fileID is the id that AutoKuma gives what is in a file.
func fileID(path string) string {
	return filepath.ToSlash(strings.TrimSuffix(path, filepath.Ext(path)))
}

// readKumaDirectory reads the directory of static monitors of AutoKuma: its *.json and *.toml files, and
// those below. As AutoKuma does, it passes over names that begin with a dot, and over links.
func readKumaDirectory(dir string) (*kumaData, error) {
	var entities []kumaEntity
	files, size := 0, int64(0)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch kind := filepath.Ext(path); {
		case err != nil:
			return err
		case path != dir && strings.HasPrefix(entry.Name(), ".") && entry.IsDir():
			return fs.SkipDir
		case !entry.Type().IsRegular() || strings.HasPrefix(entry.Name(), ".") || kind != ".json" && kind != ".toml":
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if files, size = files+1, size+info.Size(); files > maxKumaFiles || size > maxKumaFileBytes {
			return fmt.Errorf("%s: has more than %d files or %d MiB", dir, maxKumaFiles, maxKumaFileBytes>>20)
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		found, err := readKumaEntityFile(path, fileID(name))
		entities = append(entities, found...)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(entities) == 0 {
		return nil, fmt.Errorf("%s has no kuma.db and no files of AutoKuma (*.json, *.toml); name the database or the backup of Uptime Kuma", dir)
	}
	return readKumaEntities(entities), nil
}

// readKumaEntityFile reads the entities of one file.
func readKumaEntityFile(path, id string) ([]kumaEntity, error) {
	var value any
	var err error
	if filepath.Ext(path) == ".toml" {
		if value, err = readKumaTOML(path); err != nil {
			return nil, err
		}
	} else {
		text, err := readBounded(path, maxKumaFileBytes)
		if err != nil {
			return nil, err
		}
		if value, err = decodeJSON(text); err != nil {
			return nil, fmt.Errorf("%s: is not JSON: %w", path, err)
		}
	}
	entities, err := entitiesOf(id, value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(entities) == 0 {
		return nil, fmt.Errorf("%s: has no monitor: no member type, and no list of monitors", path)
	}
	return entities, nil
}
