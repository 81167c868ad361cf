// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil/internal/console"

	"github.com/vigil-monitor/vigil/internal/instance"
)

// The first start of an instance logs its user in, but replaces no context.
func TestSaveLocal(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	if name, err := SaveLocal("http://127.0.0.1:8080", "vgl_first", "/data"); name != "local" || err != nil {
		t.Fatalf("saves %q, %v", name, err)
	}
	if name, err := SaveLocal("http://127.0.0.1:8080", "vgl_second", "/data"); name != "" || err != nil {
		t.Errorf("saves %q over an existing context, %v", name, err)
	}
	read, err := console.ReadContexts(configPath(), t.Logf)
	if err != nil || read.Current != "local" || read.Contexts["local"].Key != "vgl_first" {
		t.Errorf("the file has %+v, %v", read, err)
	}
}

func TestInstance(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	here := instance.Instance{APIURL: "http://127.0.0.1:8080", PID: os.Getpid(), Version: "1", StartedAt: time.Unix(1_700_000_000, 0).UTC()}
	if err := instance.SaveInstance(dir, here); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "instance.json")); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	if found, err := instance.Running(dir); err != nil || found != here {
		t.Errorf("found %+v, %v", found, err)
	}
	instance.RemoveInstance(dir, here.PID+1)
	if _, err := instance.Running(dir); err != nil {
		t.Errorf("another process removed the description: %v", err)
	}
	instance.RemoveInstance(dir, here.PID)
	if _, err := instance.Running(dir); err == nil {
		t.Error("the description is still there")
	}
	here.PID = 1 << 30 // no process has it
	if err := instance.SaveInstance(dir, here); err != nil {
		t.Fatal(err)
	}
	if _, err := instance.Running(dir); err == nil {
		t.Error("an instance whose process has ended is found")
	}
}

func TestTarget(t *testing.T) {
	t.Parallel()
	contexts := &console.Contexts{Current: "prod", Contexts: map[string]console.Context{
		"prod": {URL: "https://vigil.example.com", Key: "prod-key"}, "bare": {URL: "https://bare.example.com"},
		"local": {URL: "http://127.0.0.1:8080/", Key: "local-key"},
	}}
	for name, test := range map[string]struct {
		env          environment
		context, url string
		wantURL, key string
		code         console.Code
	}{
		"CurrentContext": {wantURL: "https://vigil.example.com", key: "prod-key"},
		"FlagWinsOverEverything": {
			environment{url: "https://x.example", key: "k", context: "prod"}, "local", "", "http://127.0.0.1:8080", "local-key", 0,
		},
		"VariableOfTheContext":          {env: environment{context: "local"}, wantURL: "http://127.0.0.1:8080", key: "local-key"},
		"VariablesOfServerAndKey":       {env: environment{url: "https://ci.example/", key: "ci"}, wantURL: "https://ci.example", key: "ci"},
		"KeyOfTheContextWithThatServer": {env: environment{url: "HTTP://127.0.0.1:8080"}, wantURL: "http://127.0.0.1:8080", key: "local-key"},
		"NoKeyForAnotherServer":         {env: environment{url: "https://ci.example"}, wantURL: "https://ci.example"},
		"KeyForABareContext":            {env: environment{key: "ci", context: "bare"}, wantURL: "https://bare.example.com", key: "ci"},
		"KeyForABareContextByFlag":      {env: environment{key: "ci"}, context: "bare", wantURL: "https://bare.example.com", key: "ci"},
		"TwoKeys":                       {env: environment{key: "ci"}, code: console.Usage},
		"TheSameKeyTwice":               {env: environment{key: "prod-key"}, wantURL: "https://vigil.example.com", key: "prod-key"},
		"URLByFlagWithKey":              {env: environment{key: "ci"}, url: "https://ci.example", wantURL: "https://ci.example", key: "ci"},
		"URLByFlagOfAContext":           {url: "https://vigil.example.com/", wantURL: "https://vigil.example.com", key: "prod-key"},
		"KeyOfAContextToAnotherServer":  {context: "prod", url: "https://ci.example", code: console.Usage},
		"UnknownContext":                {context: "nothing", code: console.Usage},
		"URLWithPassword":               {url: "https://a:b@ci.example", code: console.Usage},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := choose(test.env, test.context, test.url, contexts, "config.yaml")
			if console.CodeOf(err) != test.code || err == nil && (got.URL != test.wantURL || got.Key != test.key) {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	t.Run("Durations", func(t *testing.T) {
		t.Parallel()
		for text, want := range map[string]time.Duration{"90d": 90 * 24 * time.Hour, "1h30m": 90 * time.Minute, "0.5d": 12 * time.Hour, "0s": 0} {
			if got, err := duration("--x", text); err != nil || got != want {
				t.Errorf("%s is %v, %v", text, got, err)
			}
		}
		for _, text := range []string{"", "d", "-1s", "1", "-2d", "1y", "1e9d"} {
			if got, err := duration("--x", text); console.CodeOf(err) != console.Usage {
				t.Errorf("%q is %v, %v", text, got, err)
			}
		}
		if _, err := seconds("--interval", "1500ms"); console.CodeOf(err) != console.Usage {
			t.Errorf("1500ms is an interval: %v", err)
		}
	})
	t.Run("MembersOfAConfig", func(t *testing.T) {
		t.Parallel()
		object := map[string]any{}
		for _, text := range []string{
			"port=443", "url=https://a/?b=c", "basic_auth.username=ada", `text="1"`, `list=[1,"a"]`, "empty=", "basic_auth.password=p=w",
		} {
			if err := assign("--config", object, text); err != nil {
				t.Fatal(err)
			}
		}
		got, err := json.Marshal(object)
		const want = `{"basic_auth":{"password":"p=w","username":"ada"},"empty":"","list":[1,"a"],"port":443,"text":"1","url":"https://a/?b=c"}`
		if err != nil || string(got) != want {
			t.Errorf("got %s, %v", got, err)
		}
		for _, text := range []string{"port", "=1", "port.x=1"} {
			if err := assign("--config", object, text); console.CodeOf(err) != console.Usage {
				t.Errorf("%s gives %v", text, err)
			}
		}
	})
	t.Run("Intervals", func(t *testing.T) {
		t.Parallel()
		for seconds, want := range map[int64]string{5: "5s", 60: "1m", 90: "1m30s", 3600: "1h", 3660: "1h1m", 86400: "24h"} {
			if got := every(seconds); got != want {
				t.Errorf("%d is %s, want %s", seconds, got, want)
			}
		}
	})
	t.Run("KeysAreHidden", func(t *testing.T) {
		t.Parallel()
		const text = "/v1/x?token=vgl_8mKq2VxTz0bYd4RfWc7NjH1sLgPaEu5i0Xo2Qp&b=eyJhbGciOi.eyJzdWIi.c2ln"
		if got := redacted(text); got != "/v1/x?token=vgl_***&b=eyJ***" {
			t.Errorf("got %s", got)
		}
	})
}
