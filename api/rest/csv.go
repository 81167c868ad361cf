// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// csvType is the media type of RFC 4180.
const csvType = "text/csv; charset=utf-8; header=present"

// CSV writes the rows of a file by RFC 4180. It keeps no row.
type CSV struct {
	buffer *bufio.Writer
	rows   *csv.Writer
	cells  []string
}

// csvBuffer is how many bytes are written at once.
const csvBuffer = 32 << 10

// StreamCSV answers with a file of this name, without its ending. write writes the rows below the header; when
// it fails the connection is cut, so that no client takes a part of the file for all of it. done is called at
// the end.
func StreamCSV(ctx context.Context, name string, header []string, done func(), write func(*CSV) error) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(to huma.Context) {
		defer done()
		to.SetHeader("Content-Type", csvType)
		to.SetHeader("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name+".csv"))
		to.SetHeader("Cache-Control", "no-store")
		file := &CSV{buffer: bufio.NewWriterSize(to.BodyWriter(), csvBuffer)}
		file.rows = csv.NewWriter(file.buffer)
		file.rows.UseCRLF = true
		err := file.rows.Write(header)
		if err == nil {
			err = write(file)
		}
		if err == nil {
			file.rows.Flush()
			err = file.rows.Error()
		}
		if err != nil {
			RequestOf(ctx).Log().InfoContext(ctx, "a file of CSV was cut", "file", name, "error", err)
			panic(http.ErrAbortHandler)
		}
	}}
}

// Text adds a cell of text from people or targets. What a spreadsheet would read as a formula gets an
// apostrophe in front, as OWASP advises.
func (c *CSV) Text(text string) *CSV {
	if first := strings.TrimLeft(text, " \u00a0"); first != "" && strings.ContainsRune("=+-@\t\r\n|%＝＋－＠", []rune(first)[0]) {
		text = "'" + text
	}
	c.cells = append(c.cells, text)
	return c
}

// Value adds a cell of the platform's own: a number, a time, an id, or true and false. A nil pointer is an
// empty cell.
func (c *CSV) Value(value string) *CSV {
	c.cells = append(c.cells, value)
	return c
}

// End ends a row.
func (c *CSV) End() error {
	err := c.rows.Write(c.cells)
	c.cells = c.cells[:0]
	if err != nil {
		return fmt.Errorf("write a row: %w", err)
	}
	return nil
}

// DescribeCSV says in the document that an operation answers with a file.
func DescribeCSV(r *Registrar, path, what string) {
	OperationAt(r.Document(), http.MethodGet, path).Responses["200"].Content = map[string]*huma.MediaType{
		"text/csv": {Schema: &huma.Schema{Type: huma.TypeString, Description: what}},
	}
}
