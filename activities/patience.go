// SPDX-License-Identifier: Apache-2.0

package activities

import (
	"cmp"
	"context"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/timing"
)

// The patience of an attempt with a store that does not answer: an attempt that ends without its outcome counts as one that
// failed and may have arrived, although nothing was sent, or it did arrive and is sent again. Together with the time to send,
// 15 s, it is less than an attempt has.
const (
	storePatience   = 4 * time.Second // with each read and write before the message is sent
	outcomePatience = 10 * time.Second
	patiencePause   = 500 * time.Millisecond
)

// patiently repeats a call of the store that may be repeated, until it has an answer or the patience is over. That something is
// not found or invalid is an answer.
func patiently(ctx context.Context, patience time.Duration, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var answer error
	err := timing.Repeat(ctx, patiencePause, func(ctx context.Context) error {
		err := call(ctx)
		if code := vigil.ErrorCode(err); code == vigil.CodeNotFound || code == vigil.CodeInvalid {
			answer, err = err, nil
		}
		return err
	})
	return cmp.Or(answer, err)
}
