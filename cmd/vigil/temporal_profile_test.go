// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"go.temporal.io/sdk/contrib/envconfig"

	"github.com/vigil-monitor/vigil/internal/instance"
	"github.com/vigil-monitor/vigil/internal/standalone"

	"github.com/vigil-monitor/vigil/internal/platform"
)

// TestTemporalProfile: Temporal's own tools, and the commands of this program, find the
// certificates of the embedded server in the data directory.
func TestTemporalProfile(t *testing.T) {
	t.Parallel()
	data, err := standalone.OpenDataDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = data.Close() })
	secure, err := data.Credentials(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	path, err := secure.WriteProfile("127.0.0.1:7299", "vigil")
	if err != nil {
		t.Fatal(err)
	}
	options, err := envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{ConfigFilePath: path})
	if err != nil {
		t.Fatal(err)
	}
	tls := options.ConnectionOptions.TLS
	if options.HostPort != "127.0.0.1:7299" || options.Namespace != "vigil" || tls == nil || len(tls.Certificates) != 1 || tls.RootCAs == nil {
		t.Errorf("the profile gives %+v", options)
	}
	s := platform.Settings{DataDir: data.Path(), TemporalAddress: "127.0.0.1:7299"}
	if platform.LocalTemporalTLS(&s) != nil {
		t.Error("certificates are used without an instance")
	}
	err = instance.SaveInstance(data.Path(), instance.Instance{APIURL: "http://127.0.0.1:1", TemporalAddress: "127.0.0.1:7299"})
	if err != nil || platform.LocalTemporalTLS(&s) == nil {
		t.Errorf("the certificates of the instance are not found (%v)", err)
	}
	if s.TemporalAddress = "temporal.example.com:7233"; platform.LocalTemporalTLS(&s) != nil {
		t.Error("the certificates go to another server")
	}
}
