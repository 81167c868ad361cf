// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/console"
)

func TestServerAndKeyAreChosen(t *testing.T) {
	t.Parallel()
	contexts := &console.Contexts{Current: "local", Contexts: map[string]console.Context{
		"local": {URL: "http://127.0.0.1:8080", Key: "local-key"},
		"prod":  {URL: "https://vigil.example.com", Key: "prod-key"},
		"bare":  {URL: "https://bare.example.com"},
	}}
	for _, one := range []struct {
		name, address, key, err string
		config, env             given
	}{
		{name: "CurrentContext", address: "http://127.0.0.1:8080", key: "local-key"},
		{name: "Environment", env: given{url: "https://a.example/", key: "k"}, address: "https://a.example", key: "k"},
		{
			name: "ConfigurationWins", config: given{url: "https://b.example", key: "c"}, env: given{url: "https://a.example", key: "k"},
			address: "https://b.example", key: "c",
		},
		{name: "NamedContext", config: given{context: "prod"}, env: given{key: "k"}, address: "https://vigil.example.com", key: "prod-key"},
		{name: "ContextOfTheEnvironment", env: given{context: "prod"}, address: "https://vigil.example.com", key: "prod-key"},
		{name: "KeyOfTheSameServer", config: given{url: "https://vigil.example.com/"}, address: "https://vigil.example.com", key: "prod-key"},
		{name: "KeyForABareContext", config: given{context: "bare"}, env: given{key: "k"}, address: "https://bare.example.com", key: "k"},
		{name: "NoKey", config: given{url: "https://c.example"}, err: "no key is given for https://c.example"},
		{name: "OtherServer", config: given{url: "https://c.example", context: "prod"}, err: "the context prod is for https://vigil.example.com"},
		{name: "NoContext", config: given{context: "none"}, err: `there is no context "none"`},
		{name: "NoAddress", config: given{url: "c.example", key: "k"}, err: "must be an address"},
	} {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			address, key, err := target(one.config, one.env, contexts)
			if one.err != "" {
				if err == nil || !strings.Contains(err.Error(), one.err) {
					t.Fatalf("the error is %v", err)
				}
				return
			}
			if err != nil || address != one.address || key != one.key {
				t.Errorf("%s with %s, %v", address, key, err)
			}
		})
	}
}

func TestEnvironmentKeyIsNotSentToAnotherContext(t *testing.T) {
	t.Parallel()
	contexts := &console.Contexts{Current: "prod", Contexts: map[string]console.Context{
		"prod": {URL: "https://vigil.example.com", Key: "prod-key"},
	}}
	_, key, err := target(given{}, given{key: "key-of-another-server"}, contexts)
	if err != nil || key != "prod-key" {
		t.Errorf("the key %q is sent, %v", key, err)
	}
}
