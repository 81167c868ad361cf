// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
)

const (
	bodyPart = 32 << 10 // bytes that are read of a body without an end before it is looked at
	// minArrivals is how many parts of a body must have come until it counts as one that does
	// not end, rather than one that the server does not finish.
	minArrivals = 3
	// searchedAlways is how long a body without an end is until it is only searched again when it
	// has grown by an eighth, in bytes: all searches together take time in proportion to its length.
	searchedAlways = 64 << 10
)

// bodyReading reads the body of an answer, as much as its config and its assertions want.
type bodyReading struct {
	wanted

	request  *httpRequest
	timeline *timeline
	response *http.Response
	got      *answer
	seen     *HTTPMetadata

	body     io.Reader // without its content coding
	arrivals arrivals
	kept     bytes.Buffer
	searched int // bytes when it was last searched
}

// run reads the body. Of an answer that does not end, status and headers are all that is waited for
// when nothing looks at the body.
func (b *bodyReading) run(ctx context.Context) error {
	keep := b.request.needsBody() || b.needsBody()
	endless := b.request.Stream || neverEnds(b.response)
	b.timeline.step("reading the body" + b.awaited(keep))
	if endless && !keep {
		b.seen.Stream = true
		b.timeline.recorder.status(b.response)
		return nil
	}
	b.arrivals.from = b.response.Body
	b.open()
	defer b.closeCodings()
	if endless && b.decidesEarly() {
		b.seen.Stream = true
		return b.readEndless(ctx)
	}
	err := b.read(keep)
	if err != nil && !keep && b.flows(ctx) {
		b.seen.Stream, b.got.expired, err = true, true, nil
	}
	return err
}

// open finds out what the body is coded with.
func (b *bodyReading) open() {
	b.body = b.response.Body
	if b.response.ContentLength < 0 {
		b.body = &b.arrivals
	}
	if _, has := b.response.Header["Content-Encoding"]; !has || b.response.StatusCode == http.StatusPartialContent {
		return
	}
	problem := ""
	if b.body, problem = unpack(b.body, codings(b.response.Header)); problem != "" {
		b.got.problem = "the body cannot be read: " + problem
	}
}

func (b *bodyReading) closeCodings() {
	if unpacked, ok := b.body.(*unpacker); ok {
		_ = unpacked.Close()
	}
}

// read reads the body to its end or its limit, and keeps it when it is needed.
func (b *bodyReading) read(keep bool) error {
	limit, recorder := int64(b.request.MaxBodyBytes), b.timeline.recorder
	bounded := io.LimitReader(b.body, limit)
	length := b.response.ContentLength
	if _, coded := b.body.(*unpacker); coded {
		length = -1 // that of what is coded
	}
	first, err := recorder.readFirst(bounded, length)
	n := int64(len(first))
	if err == nil {
		sink := io.Discard
		if keep {
			sink = &b.kept
			b.kept.Write(first)
		}
		var rest int64
		rest, err = io.Copy(sink, bounded)
		n += rest
	}
	b.seen.BodyBytes = int(n)
	if err == nil && n == limit {
		more, _ := io.ReadFull(b.body, make([]byte, 1))
		b.seen.BodyTruncated = more > 0
	}
	if recorder != nil {
		recorder.answered(b.response, first, n, err == nil && n == int64(len(first)))
	}
	b.got.body = b.kept.Bytes()
	if b.seen.BodyTruncated {
		b.got.unread = fmt.Sprintf("the body is larger than %s, which max_body_bytes can raise to 16 MiB", sizeText(int(limit)))
	}
	return err
}

// readEndless reads until what came is enough, or there is no more, or no more time.
func (b *bodyReading) readEndless(ctx context.Context) error {
	limit := b.request.MaxBodyBytes
	part := make([]byte, bodyPart)
	var err error
	for err == nil && b.kept.Len() < limit && !b.enough() {
		var n int
		n, err = b.body.Read(part[:min(len(part), limit-b.kept.Len())])
		b.kept.Write(part[:n])
	}
	n := b.kept.Len()
	b.got.body, b.seen.BodyBytes = b.kept.Bytes(), n
	if recorder := b.timeline.recorder; recorder != nil {
		recorder.answered(b.response, b.got.body[:min(n, readEvidenceBody)], int64(n), false)
	}
	switch {
	case err == nil && n >= limit:
		b.seen.BodyTruncated = true
		b.got.unread = fmt.Sprintf("the body is larger than %s, which max_body_bytes can raise to 16 MiB", sizeText(limit))
	case err == nil:
		b.got.unread = "the answer goes on"
	case errors.Is(err, io.EOF):
		return nil
	case timeIsUp(ctx):
		b.got.expired = true
		b.got.unread = fmt.Sprintf("%s of it came within %s", sizeText(n), humanDuration(b.request.deadline))
		return nil
	}
	if err != nil {
		return err
	}
	return nil
}

// enough reports whether what came fulfils everything that looks at the body.
func (b *bodyReading) enough() bool {
	n := b.kept.Len()
	if n == 0 || n > searchedAlways && n < b.searched+b.searched/8 {
		return false
	}
	b.searched = n
	so := answer{body: b.kept.Bytes(), header: b.got.header, problem: b.got.problem, unread: "the answer goes on"}
	for i := range b.request.asserts {
		if a := &b.request.asserts[i]; a.needsBody() && a.check(&so) != "" {
			return false
		}
	}
	for _, one := range b.extract {
		if one.Source != "body" {
			continue
		}
		if _, err := one.take(&so); err != nil {
			return false
		}
	}
	return true
}

// decidesEarly reports whether a part of the body can fulfil everything that looks at it.
func (b *bodyReading) decidesEarly() bool {
	for i := range b.request.asserts {
		if a := &b.request.asserts[i]; a.needsBody() && !a.decidesEarly() {
			return false
		}
	}
	for _, one := range b.extract {
		if one.Source == "json" {
			return false
		}
	}
	return true
}

// awaited says what the body is read for, in the sentence of a timeout.
func (b *bodyReading) awaited(keep bool) string {
	if !keep {
		return ""
	}
	hint := ""
	if b.response.ContentLength < 0 && !b.request.Stream {
		hint = " (stream: true is for an answer that does not end)"
	}
	for i := range b.request.asserts {
		switch a := &b.request.asserts[i]; {
		case a.Source == sourceBody && a.Operator != "exists":
			return ", which was expected to " + a.demand() + " " + a.shownTarget(false) + hint
		case a.needsBody() && a.Source != sourceBody:
			return ", in which json " + a.Property + " is looked for" + hint
		}
	}
	return hint
}

// flows reports whether a body without a length still came when the time was up, so that it is one that
// does not end. One that came to a halt is one that the server does not finish.
func (b *bodyReading) flows(ctx context.Context) bool {
	return timeIsUp(ctx) && b.arrivals.parts >= minArrivals && time.Since(b.arrivals.last) < b.request.deadline/4
}

// timeIsUp reports whether the probe's own time is over, and not that of its caller.
func timeIsUp(ctx context.Context) bool {
	_, own := errors.AsType[expiry](context.Cause(ctx))
	return own
}

// arrivals notes when the parts of a body came.
type arrivals struct {
	from  io.Reader
	parts int
	last  time.Time
}

func (a *arrivals) Read(p []byte) (int, error) {
	n, err := a.from.Read(p)
	if n > 0 {
		a.parts++
		a.last = time.Now()
	}
	return n, err
}

// neverEnds reports whether an answer says that it has no end: another protocol follows (RFC 9110,
// section 15.2.2), or its content type is one of events, of pictures that replace each other, or
// of sound and film without a length.
func neverEnds(response *http.Response) bool {
	if response.StatusCode == http.StatusSwitchingProtocols {
		return true
	}
	if response.ContentLength >= 0 {
		return false
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch kind {
	case "text/event-stream", "multipart/x-mixed-replace":
		return true
	}
	return strings.HasPrefix(kind, "audio/") || strings.HasPrefix(kind, "video/")
}

// needsBody reports whether an assertion looks at the body.
func (r *httpRequest) needsBody() bool {
	for i := range r.asserts {
		if r.asserts[i].needsBody() {
			return true
		}
	}
	return false
}
