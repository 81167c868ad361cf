// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

const (
	// maxCodings is how many content codings may be on top of each other.
	maxCodings = 4
	// maxZstdWindow is the window that a decoder has to support, in bytes (RFC 9659).
	maxZstdWindow = 8 << 20
)

// codings returns the content codings of an answer in the order in which they were applied
// (RFC 9110, section 8.4), in lower case and without identity, which changes nothing.
func codings(header http.Header) []string {
	var found []string
	for _, line := range header["Content-Encoding"] {
		for name := range strings.SplitSeq(line, ",") {
			name = strings.ToLower(strings.TrimSpace(name))
			if name != "" && name != "identity" {
				found = append(found, name)
			}
		}
	}
	return found
}

// openers begin to decode a content coding.
var openers = map[string]func(*bufio.Reader) (io.Reader, error){ //nolint:gochecknoglobals // read only
	"gzip": openGzip, "x-gzip": openGzip, // RFC 9110, section 8.4.1.3: they are the same
	"deflate": openDeflate,
	"br":      func(in *bufio.Reader) (io.Reader, error) { return brotli.NewReader(in), nil },
	"zstd":    openZstd,
}

// unpack decodes a body of these codings. It returns the problem of one that is not known, and
// then the body as it came.
func unpack(body io.Reader, applied []string) (unpacked io.Reader, problem string) {
	if len(applied) > maxCodings {
		return body, "it has more than 4 content codings"
	}
	for _, name := range applied {
		if openers[name] == nil {
			return body, "its content coding is " + quoted(name) + ", which is none of gzip, deflate, br and zstd"
		}
	}
	for i := len(applied) - 1; i >= 0; i-- {
		below := &source{from: body}
		body = &unpacker{name: applied[i], in: bufio.NewReader(below), below: below}
	}
	return body, ""
}

// source remembers why reading from below ended.
type source struct {
	from io.Reader
	err  error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	if err != nil {
		s.err = err
	}
	return n, err
}

// unpacker decodes one coding. A body that is empty stays so.
type unpacker struct {
	name  string
	in    *bufio.Reader
	below *source
	out   io.Reader
}

func (u *unpacker) Read(p []byte) (int, error) {
	if u.out == nil {
		if _, err := u.in.Peek(1); err != nil {
			return 0, err
		}
		var err error
		if u.out, err = openers[u.name](u.in); err != nil {
			return 0, u.explain(err)
		}
	}
	n, err := u.out.Read(p)
	return n, u.explain(err)
}

// explain separates what is wrong with the coding from what is wrong with the connection.
func (u *unpacker) explain(err error) error {
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return err
	case u.below.err != nil && !errors.Is(u.below.err, io.EOF):
		return u.below.err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fail("the answer is not valid %s: it ends too early", u.name)
	}
	return fail("the answer is not valid %s", u.name)
}

// Close frees what the decoder holds.
func (u *unpacker) Close() error {
	if open, ok := u.out.(*zstd.Decoder); ok {
		open.Close()
	}
	if below, ok := u.below.from.(*unpacker); ok {
		return below.Close()
	}
	return nil
}

// gzipMembers reads the members of a gzip file (RFC 1952, section 2.2) up to something else: what
// servers pad the last one with is not part of the body.
type gzipMembers struct {
	in  *bufio.Reader
	now *gzip.Reader
}

func openGzip(in *bufio.Reader) (io.Reader, error) {
	now, err := gzip.NewReader(in)
	if err != nil {
		return nil, err
	}
	now.Multistream(false)
	return &gzipMembers{in: in, now: now}, nil
}

func (m *gzipMembers) Read(p []byte) (int, error) {
	for {
		n, err := m.now.Read(p)
		if !errors.Is(err, io.EOF) {
			return n, err
		}
		if n > 0 {
			return n, nil
		}
		if magic, _ := m.in.Peek(2); len(magic) < 2 || magic[0] != 0x1f || magic[1] != 0x8b {
			return 0, io.EOF
		}
		if err := m.now.Reset(m.in); err != nil {
			return 0, err
		}
		m.now.Multistream(false)
	}
}

// openDeflate reads both of what servers call deflate: the zlib format, which the word stands for
// (RFC 9110, section 8.4.1.2), and the bare format within it. They differ in the first
// two bytes (RFC 1950, section 2.2).
func openDeflate(in *bufio.Reader) (io.Reader, error) {
	first, _ := in.Peek(2)
	if len(first) == 2 && first[0]&0x0f == 8 && first[0]>>4 <= 7 && (uint(first[0])<<8|uint(first[1]))%31 == 0 {
		return zlib.NewReader(in)
	}
	return flate.NewReader(in), nil
}

func openZstd(in *bufio.Reader) (io.Reader, error) {
	return zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
}
