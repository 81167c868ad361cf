// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestSleepsIn finds what hopes and leaves what waits for a condition.
func TestSleepsIn(t *testing.T) {
	t.Parallel()
	const source = `package x

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestHopes(t *testing.T) {
	time.Sleep(time.Second)
	for range 3 {
		time.Sleep(time.Second)
	}
	<-time.After(time.Second)
	select {
	case <-time.After(time.Second):
	}
	timing.Sleep(t.Context(), time.Second)
}

func TestWaits(t *testing.T) {
	for !done() {
		time.Sleep(time.Second)
	}
	for {
		if done() {
			return
		}
		time.Sleep(time.Second)
	}
	select {
	case <-news:
	case <-time.After(time.Second):
	}
	synctest.Test(t, func(t *testing.T) { time.Sleep(time.Second) })
	time.Sleep(time.Second) // sleep: a slow peer
}
`
	path := filepath.Join(t.TempDir(), "x_test.go")
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := sleepsIn(path)
	if want := []int{10, 12, 14, 16, 18}; err != nil || !slices.Equal(found, want) {
		t.Errorf("found in lines %v, %v, want %v", found, err, want)
	}
}
