// SPDX-License-Identifier: Apache-2.0

//go:build !slim

package standalone_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.temporal.io/server/common/dynamicconfig"

	"github.com/vigil-monitor/vigil/internal/standalone"
)

// TestDynamicSettings proves that the file for clusters has the settings of the embedded
// server.
func TestDynamicSettings(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile(filepath.Join("..", "..", "temporal-config", "dynamic.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	file := dynamicconfig.LoadYamlFile(raw)
	if err := file.Err(); err != nil {
		t.Fatal(err)
	}
	for _, warning := range file.Warnings {
		t.Error(warning) // a key that this server does not know, or a value of the wrong type
	}
	embedded := standalone.DynamicSettings()
	for key, values := range file.Map {
		if strings.HasPrefix(key.String(), "system.enableinternode") {
			continue // for several hosts
		}
		want, constrained := embedded[key.String()].([]dynamicconfig.ConstrainedValue)
		if !constrained {
			want = []dynamicconfig.ConstrainedValue{{Value: embedded[key.String()]}}
		}
		if !reflect.DeepEqual(values, want) {
			t.Errorf("%s: the file has %v, the embedded server %v", key, values, embedded[key.String()])
		}
		delete(embedded, key.String())
	}
	for key, value := range embedded {
		alone := strings.Contains(key, ".shutdown") || strings.HasSuffix(key, "schedulerworkercount") || key == "history.xdccachemaxsizebytes"
		if !alone { // those are for a single host
			t.Errorf("temporal-config/dynamic.yaml lacks %s: %v", key, value)
		}
	}
}
