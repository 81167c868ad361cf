// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/vigil-monitor/vigil/internal/console"
)

// given is what the configuration of the provider says about the server; "" is absent.
type given struct{ url, key, context string }

// environment reads what the variables say, which the command line has too.
func environment() given {
	return given{url: os.Getenv("VIGIL_URL"), key: os.Getenv("VIGIL_API_KEY"), context: os.Getenv("VIGIL_CONTEXT")}
}

// configPath returns the file of contexts of the command line.
func configPath() string { return console.ContextsPath(os.Getenv("XDG_CONFIG_HOME")) }

// target decides which server is used, with which key: the configuration wins over the
// environment, and that over the current context. A key is sent to its own server only.
func target(config, env given, contexts *console.Contexts) (address, key string, err error) {
	name := config.context
	if name == "" && config.url == "" && env.url == "" {
		if name = env.context; name == "" {
			name = contexts.Current
		}
	}
	if name == "" {
		address = first(config.url, env.url)
		key = first(config.key, env.key, keyOf(contexts, address))
	} else {
		saved, ok := contexts.Contexts[name]
		if !ok {
			return "", "", fmt.Errorf("there is no context %q; vigil context list shows them", name)
		}
		if config.url != "" && trim(config.url) != trim(saved.URL) {
			return "", "", fmt.Errorf("the context %s is for %s, and url is %s; give one of them", name, saved.URL, config.url)
		}
		address, key = saved.URL, first(config.key, saved.Key, env.key)
	}
	if address == "" {
		return "", "", fmt.Errorf("no server is given: set url or VIGIL_URL, or log in with vigil login")
	}
	parsed, err := url.Parse(address)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.User != nil {
		return "", "", fmt.Errorf("the url must be an address such as https://vigil.example.com")
	}
	if key == "" {
		return "", "", fmt.Errorf("no key is given for %s: set api_key or VIGIL_API_KEY, or log in with vigil login", address)
	}
	return trim(address), key, nil
}

// keyOf returns the key of the context with an address, or "".
func keyOf(contexts *console.Contexts, address string) string {
	for _, name := range contexts.Names() {
		if saved := contexts.Contexts[name]; saved.Key != "" && trim(saved.URL) == trim(address) {
			return saved.Key
		}
	}
	return ""
}

func trim(address string) string { return strings.TrimRight(address, "/") }

func first(all ...string) string {
	for _, one := range all {
		if one != "" {
			return one
		}
	}
	return ""
}
