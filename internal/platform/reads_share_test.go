// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/google/uuid"
)

// TestReadShares: an organization whose reads do not end keeps no place from the others.
func TestReadShares(t *testing.T) {
	t.Parallel()
	shares, loud := newReadShares(), uuid.New()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	held := make(chan func(), 200)
	for range 200 {
		user := uuid.New()
		go func() {
			if leave, err := shares.Take(ctx, loud, user); err == nil {
				held <- leave
			}
		}()
	}
	first := <-held
	for range runtime.NumCPU() {
		within, end := context.WithTimeout(t.Context(), time.Minute)
		leave, err := shares.Take(within, uuid.New(), uuid.New())
		end()
		if err != nil {
			t.Fatalf("another organization waits: %v", err)
		}
		defer leave()
	}
	if n := shares.places.Held(); n > int64(2*runtime.NumCPU()) {
		t.Errorf("%d places are held", n)
	}
	first()
	cancel()
	if leave, err := shares.Take(ctx, loud, uuid.New()); err == nil {
		leave() // a place was free at once
	}
}
