// SPDX-License-Identifier: Apache-2.0

package storage_test

import "testing"

func TestPrivateTargetsAreClosedForEveryProcess(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t)
	closed := func(want string) {
		t.Helper()
		if reason, err := s.PrivateTargetsClosed(t.Context()); err != nil || reason != want {
			t.Errorf("closed because of %q, %v; want %q", reason, err, want)
		}
	}
	closed("")
	for _, reason := range []string{"a proxy", "another proxy"} {
		if err := s.ClosePrivateTargets(t.Context(), reason); err != nil {
			t.Fatal(err)
		}
		closed("a proxy")
	}
	if err := s.OpenPrivateTargets(t.Context()); err != nil {
		t.Fatal(err)
	}
	closed("")
}
