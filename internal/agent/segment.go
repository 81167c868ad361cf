// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/internal/agentlink"
)

// A segment is a file of records, one for each result: a header and the result in JSON. The header
// has the length of the JSON and a CRC-32 (Castagnoli) of all that follows it, four bytes each, then a
// byte of flags, and the slot in nanoseconds since 1970, eight bytes; numbers are little-endian. What
// is not whole at the end of a file was being written when the machine stopped.
const (
	headerSize = 17
	flagCalm   = 1
	// maxRecord bounds a record: a larger one is damage.
	maxRecord = agentlink.MostReport
)

// Names of segments: a number that grows, and whether its results are to be sent or were.
const (
	unsentSuffix = ".unsent"
	sentSuffix   = ".sent"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli) //nolint:gochecknoglobals // a constant that Go cannot spell as one

// item is a result in JSON that the platform has not acknowledged.
type item struct {
	json  []byte
	slot  time.Time
	calm  bool      // the result says what the one before it said
	added time.Time // to the outbox, by the own clock
}

// segment is what is known of a file. Its members are guarded by the lock of the spool.
type segment struct {
	number  int64
	path    string
	sent    bool
	size    int64
	records int
	calm    int // of records
	// read is where what was not acknowledged begins, and readRecords how many come before it.
	read        int64
	readRecords int
	// oldest and newest are slots.
	oldest, newest time.Time
	changes        int // how often the file was replaced
}

func segmentPath(dir string, number int64, sent bool) string {
	suffix := unsentSuffix
	if sent {
		suffix = sentSuffix
	}
	return filepath.Join(dir, fmt.Sprintf("%019d%s", number, suffix))
}

// parseSegment reads the name of a file; ok is false for one that is no segment.
func parseSegment(path string) (found *segment, ok bool) {
	name, sent := strings.CutSuffix(filepath.Base(path), sentSuffix)
	if !sent {
		if name, ok = strings.CutSuffix(name, unsentSuffix); !ok {
			return nil, false
		}
	}
	number, err := strconv.ParseInt(name, 10, 64)
	if err != nil || number < 0 {
		return nil, false
	}
	return &segment{number: number, path: path, sent: sent}, true
}

// note counts a record.
func (s *segment) note(one item) {
	s.size += int64(headerSize + len(one.json))
	s.records++
	if one.calm {
		s.calm++
	}
	if s.records == 1 || one.slot.Before(s.oldest) {
		s.oldest = one.slot
	}
	if s.records == 1 || one.slot.After(s.newest) {
		s.newest = one.slot
	}
}

// appendRecord appends a result as it is in a file.
func appendRecord(to []byte, one item) []byte {
	at := len(to)
	to = append(to, make([]byte, headerSize)...)
	to = append(to, one.json...)
	record := to[at:]
	if one.calm {
		record[8] = flagCalm
	}
	binary.LittleEndian.PutUint64(record[9:], uint64(one.slot.UnixNano()))
	binary.LittleEndian.PutUint32(record, uint32(len(one.json))) //nolint:gosec // below maxRecord
	binary.LittleEndian.PutUint32(record[4:], crc32.Checksum(record[8:], castagnoli))
	return to
}

// errTorn is the end of what can be read of a segment.
var errTorn = errors.New("a record that is not whole")

// readRecord reads the next result. io.EOF is the end, and errTorn a record that is not whole.
func readRecord(from *bufio.Reader) (item, error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(from, header[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return item{}, errTorn
		}
		return item{}, err
	}
	length := binary.LittleEndian.Uint32(header[:])
	if length == 0 || length > maxRecord {
		return item{}, errTorn
	}
	one := item{json: make([]byte, length), calm: header[8]&flagCalm != 0}
	if _, err := io.ReadFull(from, one.json); err != nil {
		return item{}, errTorn
	}
	sum := crc32.Update(crc32.Checksum(header[8:], castagnoli), castagnoli, one.json)
	if sum != binary.LittleEndian.Uint32(header[4:]) {
		return item{}, errTorn
	}
	one.slot = time.Unix(0, int64(binary.LittleEndian.Uint64(header[9:]))).UTC() //nolint:gosec // its bits
	return one, nil
}

// each calls a function with the results of a segment from an offset on, until it returns false.
func (s *segment) each(from int64, do func(item) bool) error {
	file, err := os.Open(s.path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		return err
	}
	reader := bufio.NewReaderSize(file, 32<<10)
	for {
		one, err := readRecord(reader)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case !do(one):
			return nil
		}
	}
}

// scan reads a file that another process wrote, and cuts what is not whole off its end.
func (s *segment) scan() (cut int64, err error) {
	err = s.each(0, func(one item) bool {
		s.note(one)
		return true
	})
	if err != nil && !errors.Is(err, errTorn) {
		return 0, err
	}
	info, err := os.Stat(s.path)
	if err != nil {
		return 0, err
	}
	if cut = info.Size() - s.size; cut > 0 {
		return cut, os.Truncate(s.path, s.size)
	}
	return 0, nil
}
