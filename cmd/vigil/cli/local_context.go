// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"

	"github.com/vigil-monitor/vigil/internal/console"
)

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool { return console.IsTerminal(stream) }

// SaveLocal saves the first key of an instance as the context local, unless there is such
// a context. It returns the name of the context, "" when none was saved. It becomes the
// current one if there is none.
func SaveLocal(apiURL, key, dataDir string) (name string, err error) {
	err = console.ChangeContexts(configPath(), func(string, ...any) {}, func(contexts *console.Contexts) error {
		if _, exists := contexts.Contexts[localContext]; exists {
			return errExists
		}
		contexts.Contexts[localContext] = console.Context{URL: apiURL, Key: key, DataDir: dataDir, Organization: "Operator"}
		if contexts.Current == "" {
			contexts.Current = localContext
		}
		return nil
	})
	switch {
	case errors.Is(err, errExists):
		return "", nil
	case err != nil:
		return "", err
	}
	return localContext, nil
}

var errExists = errors.New("the context exists")
