// SPDX-License-Identifier: Apache-2.0

package console

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/goccy/go-yaml"
)

// Context is a server that the user works with, and the key for it.
type Context struct {
	URL          string `yaml:"url"`
	Key          string `yaml:"key,omitempty"`
	Organization string `yaml:"organization,omitempty"`
	DataDir      string `yaml:"data_dir,omitempty"` // of an instance on this machine
}

// ContextsPath returns where the configuration file is, with the value of XDG_CONFIG_HOME,
// which may be empty: in .config below the home directory then.
func ContextsPath(configHome string) string {
	if !filepath.IsAbs(configHome) {
		home, err := os.UserHomeDir()
		if err != nil {
			home = os.TempDir()
		}
		configHome = filepath.Join(home, ".config")
	}
	return filepath.Join(configHome, "vigil", "config.yaml")
}

// Contexts is the content of the configuration file.
type Contexts struct {
	Current  string             `yaml:"current,omitempty"`
	Contexts map[string]Context `yaml:"contexts,omitempty"`
}

// Names returns the names of all contexts, sorted.
func (c *Contexts) Names() []string {
	names := make([]string, 0, len(c.Contexts))
	for name := range c.Contexts {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

const (
	privateDir  fs.FileMode = 0o700
	privateFile fs.FileMode = 0o600
)

// ReadContexts reads the configuration file; one that does not exist is empty. A file or
// directory that others may enter is closed to them, which warn reports.
func ReadContexts(path string, warn func(format string, args ...any)) (*Contexts, error) {
	for _, kept := range []struct {
		path string
		mode fs.FileMode
	}{{filepath.Dir(path), privateDir}, {path, privateFile}} {
		if err := tighten(kept.path, kept.mode, warn); err != nil {
			return nil, err
		}
	}
	text, err := os.ReadFile(path) //nolint:gosec // the user's own configuration
	if errors.Is(err, fs.ErrNotExist) {
		return &Contexts{Contexts: map[string]Context{}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	read := Contexts{}
	decoder := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict())
	if err := decoder.Decode(&read); err != nil && !errors.Is(err, io.EOF) {
		return nil, Errorf(Usage, "%s is not valid: %s", path, complaint(err))
	}
	if read.Contexts == nil {
		read.Contexts = map[string]Context{}
	}
	return &read, nil
}

// complaint returns an error of the YAML package without the lines of the file, which
// hold keys.
func complaint(err error) string {
	if wrong, ok := errors.AsType[yaml.Error](err); ok {
		position := ""
		if token := wrong.GetToken(); token != nil && token.Position != nil {
			position = fmt.Sprintf("line %d, column %d: ", token.Position.Line, token.Position.Column)
		}
		return position + wrong.GetMessage()
	}
	return "it is no YAML"
}

// tighten takes the rights of others from a file or directory that exists.
func tighten(path string, mode fs.FileMode, warn func(format string, args ...any)) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the configuration: %w", err)
	}
	if info.Mode().Perm()&^mode == 0 {
		return nil
	}
	if err := os.Chmod(path, mode); err != nil {
		warn("warning: %s has the mode %04o, so others may read your keys, and it cannot be changed: %v", path, info.Mode().Perm(), err)
		return nil
	}
	warn("warning: %s had the mode %04o, so others could read your keys; it is %04o now", path, info.Mode().Perm(), mode)
	return nil
}

// ChangeContexts reads the configuration file, changes it and writes it in one step: a
// reader sees the old file or the new one.
func ChangeContexts(path string, warn func(format string, args ...any), change func(*Contexts) error) error {
	contexts, err := ReadContexts(path, warn)
	if err != nil {
		return err
	}
	if err := change(contexts); err != nil {
		return err
	}
	text, err := yaml.Marshal(contexts)
	if err != nil {
		return fmt.Errorf("save the configuration: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), privateDir); err != nil {
		return fmt.Errorf("save the configuration: %w", err)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a link to a file that is kept elsewhere stays a link
	}
	if err := replaceFile(path, text); err != nil {
		return fmt.Errorf("save the configuration: %w", err)
	}
	return nil
}

// replaceFile writes a file beside path and renames it.
func replaceFile(path string, text []byte) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	_, err = file.Write(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}
