// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"

	"github.com/vigil-monitor/vigil/internal/console"

	"github.com/vigil-monitor/vigil/internal/instance"
)

// The variables of the client commands.
const (
	urlVariable     = "VIGIL_URL"
	keyVariable     = "VIGIL_API_KEY"
	contextVariable = "VIGIL_CONTEXT"
)

// target is the server that a command talks to, with the source of each value.
type target struct {
	URL, URLFrom string
	Key, KeyFrom string
	// Context is the name of the context in use, "" without one.
	Context string
	// DataDir is that of an instance on this machine which the context belongs to, or "".
	DataDir string
}

// environment holds the variables of the client commands.
type environment struct{ url, key, context string }

func readEnvironment() environment {
	return environment{url: os.Getenv(urlVariable), key: os.Getenv(keyVariable), context: os.Getenv(contextVariable)}
}

// target finds the server and the key: a flag wins over the environment, the environment
// over the current context, and that over an instance on this machine.
func (a *app) target(con *console.Console) (target, error) {
	path := configPath()
	contexts, err := console.ReadContexts(path, con.Warn)
	if err != nil {
		return target{}, err
	}
	to, err := choose(readEnvironment(), a.flags.context, a.flags.url, contexts, path)
	if err != nil || to.URL != "" {
		return to, err
	}
	found, err := instance.Running(a.host.DataDir)
	if err != nil {
		return target{}, console.Errorf(console.Login, "not logged in: run `vigil login`, or `vigil login URL` for a server elsewhere")
	}
	return target{
		URL: found.APIURL, URLFrom: "the instance of " + a.host.DataDir,
		Key: os.Getenv(keyVariable), KeyFrom: keyVariable,
	}, nil
}

// choose decides by flags, environment and contexts. Without any of them the URL is "".
func choose(env environment, contextFlag, urlFlag string, contexts *console.Contexts, path string) (target, error) {
	switch {
	case contextFlag != "":
		to, err := fromContext(contexts, contextFlag, "--context", path)
		if err != nil {
			return target{}, err
		}
		if urlFlag != "" {
			return withURL(to, urlFlag)
		}
		if to.Key == "" && env.key != "" {
			to.Key, to.KeyFrom = env.key, keyVariable
		}
		return to, nil
	case urlFlag != "":
		return fromURL(urlFlag, "--url", env.key, contexts, path)
	case env.url != "":
		return fromURL(env.url, urlVariable, env.key, contexts, path)
	}
	name, source := contexts.Current, "the current context of "+path
	if env.context != "" {
		name, source = env.context, contextVariable
	}
	if name == "" {
		return target{}, nil
	}
	to, err := fromContext(contexts, name, source, path)
	switch {
	case err != nil || env.key == "":
		return to, err
	case to.Key == "":
		to.Key, to.KeyFrom = env.key, keyVariable
		return to, nil
	case to.Key == env.key:
		return to, nil
	}
	return target{}, console.Errorf(
		console.Usage, "%s is set, and the context %s has a key of its own; set %s to say which server the variable's key is for, or unset it",
		keyVariable, name, urlVariable,
	)
}

// fromContext returns the target of a saved context.
func fromContext(contexts *console.Contexts, name, source, path string) (target, error) {
	saved, ok := contexts.Contexts[name]
	if !ok {
		return target{}, console.Errorf(
			console.Usage, "there is no context %q (%s); `vigil context list` shows those of %s", name, source, path,
		)
	}
	address, err := console.ServerURL(saved.URL, "the URL of the context "+name)
	from := fmt.Sprintf("context %s (%s)", name, source)
	return target{URL: address, URLFrom: from, Key: saved.Key, KeyFrom: from, Context: name, DataDir: saved.DataDir}, err
}

// fromURL returns the target of an address: with the key of the environment, or that of
// a context with the same address. A key is never sent to another server than its own.
func fromURL(text, source, key string, contexts *console.Contexts, path string) (target, error) {
	address, err := console.ServerURL(text, source)
	if err != nil {
		return target{}, err
	}
	to := target{URL: address, URLFrom: source}
	if key != "" {
		to.Key, to.KeyFrom = key, keyVariable
		return to, nil
	}
	for _, name := range contexts.Names() {
		saved := contexts.Contexts[name]
		if own, err := console.ServerURL(saved.URL, name); err == nil && own == address && saved.Key != "" {
			to.Key, to.KeyFrom, to.Context = saved.Key, fmt.Sprintf("context %s of %s", name, path), name
			return to, nil
		}
	}
	return to, nil
}

// withURL replaces the address of a context.
func withURL(to target, text string) (target, error) {
	address, err := console.ServerURL(text, "--url")
	if err != nil {
		return target{}, err
	}
	if address != to.URL && to.Key != "" {
		return target{}, console.Errorf(
			console.Usage, "the key of the context %s is for %s; it is not sent to %s", to.Context, to.URL, address,
		)
	}
	to.URL, to.URLFrom = address, "--url"
	return to, nil
}
