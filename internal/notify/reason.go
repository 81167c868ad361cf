// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"time"

	"github.com/vigil-monitor/vigil/internal/neterr"
)

// explain names an error in a word for programs and a sentence for people.
func explain(ctx context.Context, err error, timeout time.Duration) (code, sentence string) {
	code, sentence = neterr.Exchange{Peer: "the receiver", Waited: timeout.String()}.Explain(ctx, err)
	if code != "" {
		return code, sentence
	}
	return CodeProtocol, "the receiver did not answer with valid HTTP"
}
