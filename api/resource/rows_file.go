// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"fmt"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// RowsFile is a file of CSV with the rows of a list.
type RowsFile[T any] struct {
	Name   string // without its ending
	Header []string
	// PageRows is how many rows are in memory at a time.
	PageRows int
	Read     func(ctx context.Context, page listing.Page) ([]T, listing.Extent, error)
	Write    func(file *rest.CSV, row *T) error
}

// Stream answers with the file, a page after the other. The first page is read before the answer begins, so that an error
// of it is one; files bounds how many an organization has written at once.
func (f RowsFile[T]) Stream(ctx context.Context, files *AtOnce, org uuid.UUID) (*huma.StreamResponse, error) {
	done, err := files.Begin(org)
	if err != nil {
		return nil, err
	}
	rows, extent, err := f.Read(ctx, listing.Page{Limit: f.PageRows})
	if err != nil {
		done()
		return nil, err
	}
	return rest.StreamCSV(ctx, f.Name, f.Header, done, func(file *rest.CSV) error {
		for {
			for n := range rows {
				if err := f.Write(file, &rows[n]); err != nil {
					return err
				}
			}
			if extent.Next == nil {
				return nil
			}
			if rows, extent, err = f.Read(ctx, listing.Page{Limit: f.PageRows, After: extent.Next}); err != nil {
				return fmt.Errorf("read a page of %s: %w", f.Name, err)
			}
		}
	}), nil
}
