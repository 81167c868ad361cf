// SPDX-License-Identifier: Apache-2.0

package pgreload_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/pgreload"
)

// TestAddress: a password that is replaced is used; what leads elsewhere, or is protected less, is not.
func TestAddress(t *testing.T) {
	file := filepath.Join(t.TempDir(), "services")
	t.Setenv("PGSERVICEFILE", file)
	write := func(lines string) {
		t.Helper()
		if err := os.WriteFile(file, []byte("[vigil]\n"+lines), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const start = "host=db.example.com\nuser=vigil\nsslmode=require\n"
	write(start + "password=one\n")
	var said bytes.Buffer
	v, err := pgreload.Address("those of the address", "service=vigil", slog.New(slog.NewTextHandler(&said, nil)))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ lines, password, warning string }{
		{start + "password=two\n", "two", ""},
		{"host=other.example.com\nuser=vigil\nsslmode=require\npassword=three\n", "two", "another server or user"},
		{start + "password=four\n", "four", ""},
		{"host=db.example.com\nuser=other\nsslmode=require\npassword=five\n", "four", "another server or user"},
		{start + "password=six\n", "six", ""},
		{"host=db.example.com\nuser=vigil\nsslmode=disable\npassword=seven\n", "six", "no TLS any more"},
		{start + "password=eight\n", "eight", ""},
		{"host=db.example.com\nuser=vigil\nsslmode=prefer\npassword=nine\n", "eight", "another server or user"}, // and without TLS where it must
	} {
		said.Reset()
		write(step.lines)
		if got := v.Get(t.Context()); got.Password != step.password || got.Host != "db.example.com" || got.TLSConfig == nil {
			t.Errorf("%q: %s at %s, TLS %v; want %s", step.lines, got.Password, got.Host, got.TLSConfig != nil, step.password)
		}
		if text := said.String(); !strings.Contains(text, step.warning) || step.warning == "" && text != "" {
			t.Errorf("%q: it says %q, want %q", step.lines, text, step.warning)
		}
		if strings.Contains(said.String(), "password=") {
			t.Errorf("it says a password: %s", &said)
		}
	}
}
