// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/vigil-monitor/vigil/internal/console"
	"github.com/vigil-monitor/vigil/internal/instance"
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

// healthTimeout bounds how long an instance on this machine may take to answer.
const healthTimeout = 3 * time.Second

// answers reports whether an instance serves its API.
func answers(ctx context.Context, i instance.Instance) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, i.APIURL+"/health", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers with status %d", response.StatusCode)
	}
	return nil
}
