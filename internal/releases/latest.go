// SPDX-License-Identifier: Apache-2.0

package releases

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/mod/semver"
)

// Bounds of latest.json.
const (
	MaxBytes = 1 << 20
	maxFiles = 500
	maxNotes = 256 << 10 // bytes
)

// schema is the form of latest.json that this version writes and reads. A new member needs no new
// one; a member that means another thing does.
const schema = 1

// MinimumUpgradeFrom is the oldest version that can be upgraded to this one in one step. An older
// one goes by a release in between, which docs/operations.md names.
const MinimumUpgradeFrom = "v0.1.0"

// Latest says what the newest release is.
type Latest struct {
	Schema             int       `json:"schema"`
	Version            string    `json:"version"`     // such as v1.2.0
	ReleasedAt         time.Time `json:"released_at"` // of its commit
	Commit             string    `json:"commit"`
	MinimumUpgradeFrom string    `json:"minimum_upgrade_from"`
	Notes              string    `json:"notes"` // its part of the CHANGELOG, as Markdown
	Files              []File    `json:"files"`
}

// File is a file of the release.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"` // bytes
	SHA256 string `json:"sha256"`
}

// New returns the description of a release in the present form.
func New(version, commit string, at time.Time, notes string, files []File) Latest {
	return Latest{
		Schema: schema, Version: version, ReleasedAt: at.UTC(), Commit: commit, MinimumUpgradeFrom: MinimumUpgradeFrom,
		Notes: notes, Files: files,
	}
}

var (
	fileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+~-]{0,199}$`)
	digest   = regexp.MustCompile(`^[0-9a-f]{64}$`)
	commitID = regexp.MustCompile(`^[0-9a-f]{7,64}$`)
)

// Parse reads latest.json. What it says is checked, since it may come from anywhere: the error says
// which member is wrong. The notes of the result can be shown on a terminal.
func Parse(content []byte) (Latest, error) {
	var l Latest
	if len(content) > MaxBytes {
		return l, fmt.Errorf("it has more than %d bytes", MaxBytes)
	}
	if !utf8.Valid(content) {
		return l, errors.New("it is not UTF-8")
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	if err := decoder.Decode(&l); err != nil {
		return l, fmt.Errorf("it is no description of a release: %w", err)
	}
	if decoder.More() {
		return l, errors.New("it has more than one JSON value")
	}
	switch {
	case l.Schema != schema:
		return l, fmt.Errorf("schema is %d, and this version reads %d", l.Schema, schema)
	case !semver.IsValid(l.Version) || semver.Canonical(l.Version) != l.Version || len(l.Version) > 64:
		return l, fmt.Errorf("version %.80q is not of the form v1.2.3", l.Version)
	case l.MinimumUpgradeFrom != "" && (!semver.IsValid(l.MinimumUpgradeFrom) || len(l.MinimumUpgradeFrom) > 64):
		return l, fmt.Errorf("minimum_upgrade_from %.80q is not of the form v1.2.3", l.MinimumUpgradeFrom)
	case l.Commit != "" && !commitID.MatchString(l.Commit):
		return l, fmt.Errorf("commit %.80q is no commit", l.Commit)
	case l.ReleasedAt.IsZero():
		return l, errors.New("released_at is missing")
	case len(l.Notes) > maxNotes:
		return l, fmt.Errorf("notes have more than %d bytes", maxNotes)
	case len(l.Files) > maxFiles:
		return l, fmt.Errorf("files are more than %d", maxFiles)
	}
	for i, f := range l.Files {
		switch {
		case !fileName.MatchString(f.Name):
			return l, fmt.Errorf("files[%d].name %.80q is no name of a file", i, f.Name)
		case !digest.MatchString(f.SHA256):
			return l, fmt.Errorf("files[%d].sha256 of %s is no SHA-256", i, f.Name)
		case f.Size < 0:
			return l, fmt.Errorf("files[%d].size of %s is negative", i, f.Name)
		}
	}
	l.Notes = printable(l.Notes)
	return l, nil
}

// printable removes what would move the cursor of a terminal, or turn its text.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || unicode.IsPrint(r) {
			return r
		}
		return -1
	}, text)
}

// Verdict is what a release is to a program of some version.
type Verdict string

// The verdicts.
const (
	Newer   Verdict = "newer"   // the release can be installed over the program
	TooFar  Verdict = "too_far" // it is newer, and a release in between comes first
	Current Verdict = "current" // the program is as new, or newer
	Unknown Verdict = "unknown" // the program has no version that can be compared
)

// between is a version that git describe makes behind a tag, or of a changed tree.
var between = regexp.MustCompile(`(-[0-9]+-g[0-9a-f]+)?(-dirty)?$`)

// Judge compares the version of a program, as `vigil version` shows it, with a release.
func (l *Latest) Judge(version string) Verdict {
	own := between.ReplaceAllString(version, "")
	if !strings.HasPrefix(own, "v") {
		own = "v" + own
	}
	if !semver.IsValid(own) || strings.Count(own, ".") < 2 {
		return Unknown
	}
	switch {
	case semver.Compare(own, l.Version) >= 0:
		return Current
	case l.MinimumUpgradeFrom != "" && semver.Compare(own, l.MinimumUpgradeFrom) < 0:
		return TooFar
	default:
		return Newer
	}
}
