// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"testing"

	"github.com/vigil-monitor/vigil/workers"
)

func TestDeployment(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		want workers.Deployment
		ok   bool
	}{
		"OffByDefault":       {nil, workers.Deployment{}, true},
		"BuildAloneIsOff":    {[]string{"--build-id=b"}, workers.Deployment{}, true},
		"NameAndBuild":       {[]string{"--deployment-name=vigil", "--build-id=b"}, workers.Deployment{Name: "vigil", BuildID: "b"}, true},
		"NoVersionToDefault": {[]string{"--deployment-name=vigil"}, workers.Deployment{}, false}, // a test has no version
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := settingsFrom(t, test.args...)
			got, err := s.Deployment(UnknownVersion)
			if got != test.want || (err == nil) != test.ok {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}
