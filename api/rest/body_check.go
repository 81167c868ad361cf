// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"context"
	"io"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// firstBuffer is how many bytes of a body are read before memory for more of it is taken:
// a client may announce a body that does not come.
const firstBuffer = 64 << 10

// readChecked is a middleware that checks the body of a request before Huma parses it, with
// at most so many bytes and values. It keeps the body for the audit log and the fingerprint of
// a request that is repeated.
func readChecked(registry huma.Registry, limit int64, values int) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		announced := limit
		if r, _ := humago.Unwrap(ctx); r.ContentLength >= 0 {
			announced = min(limit, r.ContentLength)
		}
		next(&checkedBody{humaContext: ctx, registry: registry, limit: limit, announced: announced, values: values})
	}
}

type humaContext = huma.Context // by another name than its method

type checkedBody struct {
	humaContext
	registry         huma.Registry
	limit, announced int64
	values           int
}

// BodyReader returns the body. Its first Read reads all of it, and fails where it is unfit.
func (c *checkedBody) BodyReader() io.Reader {
	reader := c.humaContext.BodyReader()
	if reader == nil {
		return nil
	}
	return &checkedReader{ctx: c.Context(), from: reader, of: c}
}

type checkedReader struct {
	ctx  context.Context //nolint:containedctx // that of the request whose body it is
	from io.Reader
	of   *checkedBody
	body *bytes.Reader // nil until it was read
	err  error
}

// Read returns a part of the body.
func (r *checkedReader) Read(p []byte) (int, error) {
	if r.body == nil {
		r.body = bytes.NewReader(nil)
		r.err = r.readAll()
	}
	if r.err != nil {
		return 0, r.err
	}
	return r.body.Read(p)
}

func (r *checkedReader) readAll() error {
	text, err := readUpTo(r.from, r.of.limit+1, r.of.announced)
	if err != nil {
		return err
	}
	r.body = bytes.NewReader(text)
	if len(text) == 0 || int64(len(text)) > r.of.limit {
		return nil // Huma refuses it
	}
	RequestOf(r.ctx).body = text
	if err := checkJSON(r.ctx, text, r.of.values); err != nil {
		return err
	}
	RequestOf(r.ctx).nulls = nullMembers(r.of.registry, r.of.Operation(), text)
	return nil
}

// readUpTo reads at most limit bytes. It takes memory as they come, and not much more than
// announced of it.
func readUpTo(from io.Reader, limit, announced int64) ([]byte, error) {
	from = io.LimitReader(from, limit)
	text := make([]byte, 0, min(announced, firstBuffer)+1)
	for {
		n, err := from.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		if err == io.EOF {
			return text, nil
		}
		if err != nil {
			return nil, err
		}
		if len(text) == cap(text) {
			larger := make([]byte, len(text), max(min(2*int64(cap(text)), announced+1), int64(cap(text))+1))
			copy(larger, text)
			text = larger
		}
	}
}
