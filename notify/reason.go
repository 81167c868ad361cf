package notify

import (
	"context"
	"time"

	"vigil/neterr"
)

// explain names an error in a word for programs and a sentence for people.
func explain(ctx context.Context, err error, timeout time.Duration) (code, sentence string) {
	code, sentence = neterr.Exchange{Peer: "the receiver", Waited: timeout.String()}.Explain(ctx, err)
	switch {
	case code != "":
		return code, sentence
	case neterr.IsTLS(err):
		return CodeTLS, "the TLS handshake with the receiver failed"
	}
	return CodeProtocol, "the receiver did not answer with valid HTTP"
}
