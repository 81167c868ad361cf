// SPDX-License-Identifier: Apache-2.0

package pg

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// TestPatientConnection holds that a use does not wait for a server that hangs, and that what connecting came to is there for a
// later one.
func TestPatientConnection(t *testing.T) {
	t.Parallel()
	answers, dials := make(chan error), 0
	l := &loneConn{patience: time.Millisecond, connect: func(context.Context) (*pgx.Conn, error) {
		dials++
		return nil, <-answers
	}}
	use := func() error { return l.use(t.Context(), func(*pgx.Conn) error { return nil }) }
	for range 3 {
		if err := use(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v while the server hangs", err)
		}
	}
	refused := errors.New("refused")
	answers <- refused
	l.patience = time.Minute
	if err := use(); !errors.Is(err, refused) || dials != 1 {
		t.Errorf("%v after %d times, want what came of the first", err, dials)
	}
	l.patience = time.Millisecond
	_ = use()
	l.close()
	answers <- refused // nothing waits for it any more
	if err := use(); !errors.Is(err, errStoreClosed) {
		t.Errorf("%v of a closed connection", err)
	}
}
