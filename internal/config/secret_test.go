// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"reflect"
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/config"
	"github.com/vigil-monitor/vigil/internal/secret"
)

type login struct {
	User     string `json:"user"`
	Password string `json:"password,omitempty" secret:"true"`
}

type shared struct {
	Token string `json:"token" secret:"true"`
}

type step struct {
	Type   string         `json:"type"`
	Config map[string]any `json:"config" secret:"by-type"`
}

type tagged struct {
	shared

	URL     string            `json:"url"`
	Headers map[string]string `json:"headers" secret:"by-name"`
	Logins  []login           `json:"logins"`
	Login   *login            `json:"login"`
	Keys    []string          `json:"keys" secret:"true"`
	Steps   []step            `json:"steps"`
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	t.Run("AreReadFromTheTags", func(t *testing.T) {
		t.Parallel()
		types := map[vigil.CheckType]secret.Fields{"a": {Secret: true}}
		password := secret.Fields{Members: map[string]secret.Fields{"password": {Secret: true}}}
		want := secret.Fields{Members: map[string]secret.Fields{
			"token": {Secret: true}, "headers": {ByName: true}, "logins": password, "login": password, "keys": {Secret: true},
			"steps": {Members: map[string]secret.Fields{"config": {ByType: types}}},
		}}
		if got := config.Secrets(tagged{}, types); !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("OfNoTypesAreByName", func(t *testing.T) {
		t.Parallel()
		got := config.Secrets(tagged{}, nil).Values([]byte(`{"steps":[{"type":"a","config":{"api_key":"s1","url":"u"}}]}`))
		if len(got) != 1 || got[0] != "s1" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("OfAConfigWithoutTagsAreNone", func(t *testing.T) {
		t.Parallel()
		if got := config.Secrets(struct {
			URL string `json:"url"`
		}{}, nil); !reflect.DeepEqual(got, secret.Fields{}) {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("AnUnknownTagIsAMistakeInTheCode", func(t *testing.T) {
		t.Parallel()
		defer func() {
			if recover() == nil {
				t.Error("it was taken")
			}
		}()
		config.Secrets(struct {
			A string `json:"a" secret:"yes"`
		}{}, nil)
	})
}
