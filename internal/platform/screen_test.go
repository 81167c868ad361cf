// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"bytes"
	"encoding/json"
	"net"
	"strings"
	"testing"
)

// The example check gives results with all settings.
func TestFirstCheck(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args   []string
		target string // behind the base for the API's own
		region string
	}{
		"Defaults":        {nil, "/health", "na-east-ewr"},
		"OneRegion":       {[]string{"--regions", "eu-central-fra"}, "/health", "eu-central-fra"},
		"Everywhere":      {[]string{"--listen", ":0"}, "https://example.com", "na-east-ewr"},
		"BehindAnAddress": {[]string{"--public-url", "https://vigil.example.com"}, "https://example.com", "na-east-ewr"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sum, _ := summaryOf(t, append([]string{"--listen", "127.0.0.1:0"}, tt.args...)...)
			if strings.HasPrefix(tt.target, "/") {
				tt.target = sum.APIURL + tt.target
			}
			var out bytes.Buffer
			if err := NewScreen(&out, &out, false).Ready(sum); err != nil {
				t.Fatal(err)
			}
			_, body, _ := strings.Cut(out.String(), "-d '")
			body, _, _ = strings.Cut(body, "'")
			var check struct {
				Regions []string
				Config  struct{ URL string }
			}
			if err := json.Unmarshal([]byte(body), &check); err != nil {
				t.Fatalf("%v in %s", err, out.String())
			}
			if len(check.Regions) != 1 || check.Regions[0] != tt.region || check.Config.URL != tt.target {
				t.Errorf("the first check is %s", body)
			}
		})
	}
}

// Where the first key was saved for the client commands, they are what is shown.
func TestFirstCheckOfASavedContext(t *testing.T) {
	t.Parallel()
	sum, _ := summaryOf(t, "--listen", "127.0.0.1:0", "--regions", "eu-central-fra")
	sum.APIKey, sum.Context = "vgl_x", "local"
	var out bytes.Buffer
	if err := NewScreen(&out, &out, false).Ready(sum); err != nil {
		t.Fatal(err)
	}
	want := "vigil check create " + sum.target + ` --name "My first check" --interval 10s --region eu-central-fra; sleep 2`
	if !strings.Contains(out.String(), want) || !strings.Contains(out.String(), "saved as context local") ||
		strings.Contains(out.String(), "curl") {
		t.Errorf("got %s", out.String())
	}
}

// A wildcard address is not one that a client can reach.
func TestWildcardAddressIsShownAsLoopback(t *testing.T) {
	t.Parallel()
	sum, s := summaryOf(t, "--listen", ":0")
	var out bytes.Buffer
	if err := NewScreen(&out, &out, true).Ready(sum); err != nil {
		t.Fatal(err)
	}
	var shown struct {
		APIURL  string `json:"api_url"`
		DocsURL string `json:"docs_url"`
	}
	if err := json.Unmarshal(out.Bytes(), &shown); err != nil {
		t.Fatal(err)
	}
	const want = "http://127.0.0.1:"
	if !strings.HasPrefix(shown.APIURL, want) || shown.DocsURL != shown.APIURL+"/docs" {
		t.Errorf("shown is %s", out.String())
	}
	if public := string(s.PublicURL); public != shown.APIURL {
		t.Errorf("links lead to %s", public)
	}
}

// summaryOf returns the summary and the settings of a platform whose API listens.
func summaryOf(t *testing.T, flags ...string) (Summary, Settings) {
	t.Helper()
	s := settingsFrom(t, flags...)
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", string(s.Listen))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	s = s.ListeningOn(listener)
	return newSummary(s, listener, TemporalServer{}), s
}
