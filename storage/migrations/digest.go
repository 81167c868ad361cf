// SPDX-License-Identifier: Apache-2.0

package migrations

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
)

// digest hashes the names and contents of the SQL files of a pattern, in order of name.
func digest(from fs.FS, pattern string) (string, error) {
	names, err := fs.Glob(from, pattern)
	if err != nil {
		return "", fmt.Errorf("list the migrations: %w", err)
	}
	sum := sha256.New()
	for _, name := range names {
		text, err := fs.ReadFile(from, name)
		if err != nil {
			return "", fmt.Errorf("read the migrations: %w", err)
		}
		fmt.Fprintf(sum, "%s %d\n", name, len(text))
		sum.Write(text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}
