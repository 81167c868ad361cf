// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/vigil-monitor/vigil/internal/agentlink"
)

const (
	// segmentBytes is how large a file grows.
	segmentBytes = 1 << 20
	// keepSent is how long acknowledged results are kept.
	// Such a file has the slots of sentSpan at most, so that it can go in time.
	keepSent = time.Hour
	sentSpan = 10 * time.Minute
	// tempSuffix is that of a file which is being written.
	tempSuffix = ".tmp"
)

// spool keeps results in files: those that are to be sent, in their order, and those that were
// acknowledged lately. When it is full, acknowledged ones give way first, then the oldest calm
// ones, then the oldest.
type spool struct {
	dir   string
	bound int64 // bytes of all files
	log   *slog.Logger
	lock  *os.File

	mu       sync.Mutex
	segments []*segment // by their number
	next     int64      // number of the next segment
	// open is the file that grows, for results to send ([0]) and acknowledged ones ([1]).
	open    [2]openSegment
	bytes   int64 // of all files
	dropped int64
}

type openSegment struct {
	file *os.File
	of   *segment
}

// openSpool opens the spool in a directory, which it makes. Only one process may have it.
func openSpool(ctx context.Context, dir string, bound int64, now time.Time, log *slog.Logger) (*spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // in the data directory
	if err != nil {
		return nil, fmt.Errorf("open the data directory: %w", err)
	}
	s := &spool{dir: dir, bound: bound, log: log, lock: lock}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("another agent uses the data directory %s: give each its own", dir)
		}
		return nil, fmt.Errorf("lock the data directory: %w", err)
	}
	if err := s.scan(ctx, now); err != nil {
		_ = s.close()
		return nil, err
	}
	return s, nil
}

// scan reads the files that are there.
func (s *spool) scan(ctx context.Context, now time.Time) error {
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("read the data directory: %w", err)
	}
	for _, file := range files {
		path := filepath.Join(s.dir, file.Name())
		if strings.HasSuffix(path, tempSuffix) {
			_ = os.Remove(path)
			continue
		}
		found, ok := parseSegment(path)
		if !ok {
			continue
		}
		s.next = max(s.next, found.number+1)
		cut, err := found.scan()
		if err != nil {
			return fmt.Errorf("read the spool: %w", err)
		}
		if cut > 0 {
			s.log.WarnContext(ctx, "a file of the spool was not whole: its end is cut off", "file", path, "bytes", cut)
		}
		if found.records == 0 || found.sent && now.Sub(found.newest) > keepSent {
			_ = os.Remove(path)
			continue
		}
		s.segments, s.bytes = append(s.segments, found), s.bytes+found.size
	}
	slices.SortFunc(s.segments, func(a, b *segment) int { return cmp.Compare(a.number, b.number) })
	return nil
}

// close closes the files.
func (s *spool) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.seal(false), s.seal(true), s.lock.Close())
}

// write appends results. Those to send are on the disk when it returns; acknowledged ones may be
// lost with the machine.
func (s *spool) write(items []item, sent bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(items) > 0 {
		to, err := s.growing(sent)
		if err != nil {
			return err
		}
		var data []byte
		n := 0
		for n < len(items) && (n == 0 || to.of.size+int64(len(data)) < segmentBytes) {
			data = appendRecord(data, items[n])
			n++
		}
		if err := s.put(to, data, sent); err != nil {
			return err
		}
		for _, one := range items[:n] {
			to.of.note(one)
		}
		s.bytes += int64(len(data))
		items = items[n:]
	}
	return s.shrink()
}

// put writes to the end of a file. What a failed write has left is cut off.
func (s *spool) put(to *openSegment, data []byte, sent bool) error {
	_, err := to.file.Write(data)
	if err == nil && !sent {
		err = to.file.Sync()
	}
	if err != nil {
		_ = to.file.Truncate(to.of.size)
		return fmt.Errorf("write to the spool: %w", err)
	}
	return nil
}

// growing returns the file to which results are appended. The caller has the lock.
func (s *spool) growing(sent bool) (*openSegment, error) {
	to := &s.open[index(sent)]
	if to.file != nil && to.of.size < segmentBytes && (!sent || to.of.newest.Sub(to.of.oldest) < sentSpan) {
		return to, nil
	}
	if err := s.seal(sent); err != nil {
		return nil, err
	}
	of := &segment{number: s.next, path: segmentPath(s.dir, s.next, sent), sent: sent}
	file, err := os.OpenFile(of.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("write to the spool: %w", err)
	}
	s.next++
	s.segments = append(s.segments, of)
	*to = openSegment{file, of}
	return to, syncDir(s.dir)
}

// seal ends the file that grows. The caller has the lock.
func (s *spool) seal(sent bool) error {
	to := &s.open[index(sent)]
	file := to.file
	*to = openSegment{}
	if file == nil {
		return nil
	}
	return file.Close()
}

// sealOf ends the growth of a segment. The caller has the lock.
func (s *spool) sealOf(one *segment) {
	if s.open[index(one.sent)].of == one {
		_ = s.seal(one.sent)
	}
}

func index(sent bool) int {
	if sent {
		return 1
	}
	return 0
}

// batch is a part of a segment that is to be sent.
type batch struct {
	items   []item
	of      *segment
	changes int   // of the segment
	end     int64 // offset behind the items
}

// oldest returns the oldest slot of the first results to send; ok is false without any.
func (s *spool) oldest() (slot time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.first(); first != nil {
		return first.oldest, true
	}
	return time.Time{}, false
}

// first returns the first segment to send. The caller has the lock.
func (s *spool) first() *segment {
	for _, one := range s.segments {
		if !one.sent {
			return one
		}
	}
	return nil
}

// head returns the results that are to be sent first: at most so many, and bytes of JSON.
func (s *spool) head(most int, bytes int) (batch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.first()
	if first == nil {
		return batch{}, nil
	}
	found := batch{of: first, changes: first.changes, end: first.read}
	size := 0
	err := first.each(first.read, func(one item) bool {
		if size += len(one.json) + 1; len(found.items) > 0 && (len(found.items) >= most || size > bytes) {
			return false
		}
		found.items, found.end = append(found.items, one), found.end+int64(headerSize+len(one.json))
		return true
	})
	if len(found.items) == 0 { // the file is damaged, or somebody removed it
		s.drop(first)
		return batch{}, err
	}
	return found, nil
}

// acknowledge takes that a batch was sent.
func (s *spool) acknowledge(done batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := done.of
	if of.changes != done.changes || of.sent {
		return nil // what is left of it is sent again
	}
	of.read = done.end
	of.readRecords += len(done.items)
	if of.read < of.size {
		return nil
	}
	s.sealOf(of)
	return s.mark(of, true)
}

// mark names a segment as sent or as to be sent. The caller has the lock.
func (s *spool) mark(of *segment, sent bool) error {
	path := segmentPath(s.dir, of.number, sent)
	if err := os.Rename(of.path, path); err != nil {
		return fmt.Errorf("rename a file of the spool: %w", err)
	}
	of.path, of.sent, of.read, of.readRecords = path, sent, 0, 0
	return nil
}

// resend takes back all acknowledgments, and returns how many results are to be sent again.
func (s *spool) resend() (results int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.seal(true)
	for _, one := range s.segments {
		if !one.sent {
			one.read, one.readRecords, one.changes = 0, 0, one.changes+1
			continue
		}
		results += one.records
		err = errors.Join(err, s.mark(one, false))
	}
	return results, err
}

// expire drops results that were acknowledged, with slots before an instant, and those of which
// the platform takes none any more.
func (s *spool) expire(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range slices.Clone(s.segments) {
		if age := now.Sub(one.newest); one.sent && age > keepSent || age > agentlink.Longest {
			s.drop(one)
		}
	}
}

// state returns what is to be sent, and how much gave way.
func (s *spool) state() agentlink.Spool {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := agentlink.Spool{Dropped: s.dropped}
	for _, one := range s.segments {
		if !one.sent {
			found.Results += int64(one.records - one.readRecords)
			found.Bytes += one.size - one.read
		}
	}
	return found
}

// shrink makes room. The caller has the lock.
func (s *spool) shrink() error {
	for s.bytes > s.bound {
		at := slices.IndexFunc(s.segments, func(one *segment) bool { return one.sent })
		if at >= 0 {
			s.drop(s.segments[at])
			continue
		}
		at = slices.IndexFunc(s.segments, func(one *segment) bool { return one.calm > 0 })
		if at >= 0 {
			if err := s.thin(s.segments[at]); err != nil {
				return err
			}
			continue
		}
		s.drop(s.segments[0])
	}
	return nil
}

// drop removes a segment. The caller has the lock.
func (s *spool) drop(one *segment) {
	s.sealOf(one)
	_ = os.Remove(one.path)
	if !one.sent {
		s.dropped += int64(one.records - one.readRecords)
	}
	one.changes++
	s.bytes -= one.size
	s.segments = slices.DeleteFunc(s.segments, func(other *segment) bool { return other == one })
}

// thin replaces a segment by one without its calm results, and without those that were sent. The
// caller has the lock.
func (s *spool) thin(one *segment) error {
	s.sealOf(one)
	left := &segment{number: one.number, path: one.path}
	var data []byte
	gone := int64(0)
	err := one.each(one.read, func(result item) bool {
		if result.calm {
			gone++
			return true
		}
		data = appendRecord(data, result)
		left.note(result)
		return true
	})
	if err != nil || left.records == 0 {
		s.drop(one)
		return nil //nolint:nilerr // what cannot be read gives way
	}
	if err := replaceFile(one.path, data); err != nil {
		return fmt.Errorf("replace a file of the spool: %w", err)
	}
	s.dropped += gone
	s.bytes += left.size - one.size
	left.changes = one.changes + 1
	*one = *left
	return nil
}
