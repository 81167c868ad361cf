// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api"
	"github.com/vigil-monitor/vigil/internal/egress"
	"github.com/vigil-monitor/vigil/internal/importer"
	"github.com/vigil-monitor/vigil/internal/manifest"
	"github.com/vigil-monitor/vigil/internal/notify"
	"github.com/vigil-monitor/vigil/internal/probe"
	"github.com/vigil-monitor/vigil/internal/secret"
)

// options are those of an import on a Sunday, with the rules of the real API.
func options() importer.Options {
	return importer.Options{
		Project: "shop", Now: time.Date(2026, 11, 22, 21, 0, 0, 0, time.UTC), Rules: rules(), Judge: judge(),
	}
}

// rules are what the API says of the files.
var rules = sync.OnceValue(func() manifest.Rules { //nolint:gochecknoglobals // made once for all tests
	guard := egress.New(egress.Policy{AllowPrivate: true})
	text, err := api.FileSchema(probe.NewRegistry(guard), notify.NewRegistry(guard))
	if err != nil {
		panic(err)
	}
	schema, err := manifest.ParseSchema(text)
	if err != nil {
		panic(err)
	}
	return manifest.Rules{Schema: schema, Secrets: secret.Configs{Checks: probe.Secrets(), Channels: notify.Secrets()}}
})

// judge reads configs as the API does.
var judge = sync.OnceValue(func() importer.Judge { //nolint:gochecknoglobals // made once for all tests
	guard := egress.New(egress.Policy{AllowPrivate: true})
	return registries{probe.NewRegistry(guard), notify.NewRegistry(guard)}
})

type registries struct {
	probes   *probe.Registry
	channels *notify.Registry
}

func (r registries) Check(kind vigil.CheckType, config json.RawMessage, interval time.Duration) error {
	_, err := r.probes.Parse(kind, config, interval)
	return err
}

func (r registries) Channel(kind vigil.ChannelType, config json.RawMessage) error {
	_, err := r.channels.Parse(kind, config)
	return err
}

// source returns a source by its name.
func source(tb testing.TB, name string) importer.Source {
	tb.Helper()
	for _, one := range importer.Sources() {
		if one.Name == name {
			return one
		}
	}
	tb.Fatalf("there is no source %s", name)
	return importer.Source{}
}

// imported is what an import wrote.
type imported struct {
	result   *importer.Result
	dir      string
	document map[string]any // as `vigil validate` reads it, with each variable as ${NAME}
	report   string
}

// write writes a result into a directory of its own, and reads the files as `vigil validate`
// does. Each variable stands for itself.
func write(tb testing.TB, result *importer.Result) imported {
	tb.Helper()
	dir := tb.TempDir()
	if _, err := result.Write(dir, false); err != nil {
		tb.Fatal(err)
	}
	got := imported{result: result, dir: dir, report: read(tb, dir, "IMPORT.md")}
	if len(result.Channels)+len(result.Checks)+len(result.Maintenance)+len(result.StatusPages) == 0 {
		return got
	}
	document, err := manifest.Read([]string{dir}, manifest.Options{
		Rules: rules(), Strict: true, Env: func(name string) (string, bool) { return "$" + name, true },
	})
	if err != nil {
		tb.Fatalf("the files are not valid:\n%v\n%s", err, files(tb, dir))
	}
	if err := json.Unmarshal(document.JSON(), &got.document); err != nil {
		tb.Fatal(err)
	}
	return got
}

// gatusText imports a configuration of Gatus.
func gatusText(tb testing.TB, text string) imported {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	result, err := source(tb, "gatus").Read(path, options())
	if err != nil {
		tb.Fatalf("%v\n%s", err, text)
	}
	return write(tb, result)
}

func read(tb testing.TB, parts ...string) string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

// files are the texts of all files of a directory.
func files(tb testing.TB, dir string) string {
	tb.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		tb.Fatal(err)
	}
	var out strings.Builder
	for _, name := range names {
		out.WriteString(read(tb, name))
	}
	return out.String()
}

// at returns a value of a document by the names on its way, as JSON.
func at(tb testing.TB, document map[string]any, path ...string) string {
	tb.Helper()
	var current any = document
	for _, name := range path {
		object, ok := current.(map[string]any)
		if !ok {
			return "null"
		}
		current = object[name]
	}
	text, err := json.Marshal(current)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}
