// SPDX-License-Identifier: Apache-2.0

package checks

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/vigil-monitor/vigil/api/resource"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/listing"
)

// filePage is how many rows of a file are in memory at a time.
const filePage = 500

func (res *results) registerFile(r *rest.Registrar) {
	const path = "/v1/checks/{id}/results.csv"
	rest.Register(r, rest.Operation{
		Method:   http.MethodGet,
		Path:     path,
		ID:       "export-results",
		Tag:      resource.TagResults,
		Resource: ResourceCheck,
		Summary:  "Download the results of a check as CSV, newest first",
		Description: "By RFC 4180. A text that a spreadsheet would read as a formula begins with an apostrophe. An answer that ends too early " +
			"is cut off, not complete. Two files of an organization are written at a time.",
		Errors: []int{http.StatusTooManyRequests},
	}, res.file)
	rest.DescribeCSV(r, path, "A header, and a row for each result.")
}

type resultsFileInput struct {
	rest.IDPath
	From    rest.Optional[time.Time] `query:"from" doc:"Results taken at or after this instant."`
	To      rest.Optional[time.Time] `query:"to" doc:"Results taken before this instant."`
	Region  string                   `query:"region" doc:"Results of one region, by its key or an alias, or of a location, by its key."`
	Success rest.Optional[bool]      `query:"success" doc:"Only successes, or only failures."`
}

func (res *results) file(ctx context.Context, in *resultsFileInput) (*huma.StreamResponse, error) {
	id, err := in.Parse(ResourceCheck)
	if err != nil {
		return nil, err
	}
	list := resultsInput{From: in.From, To: in.To, Region: in.Region, Success: in.Success}
	filter, err := list.filter(placesOf(ctx, res.store))
	if err != nil {
		return nil, err
	}
	org := rest.CallerOf(ctx).Org.ID
	done, err := res.files.Begin(org)
	if err != nil {
		return nil, err
	}
	filter.Limit = filePage
	rows, extent, err := res.store.Results(ctx, org, id, filter)
	if err != nil {
		done()
		return nil, err
	}
	header := []string{"id", "check_id", "region", "time", "success", "response_time_ms", "status_code", "error_message", "metadata"}
	return rest.StreamCSV(ctx, "results-"+id.String(), header, done, func(file *rest.CSV) error {
		for {
			for _, row := range rows {
				if err := writeResult(file, ShowResult(row)); err != nil {
					return err
				}
			}
			if extent.Next == nil {
				return nil
			}
			filter.Page = listing.Page{Limit: filePage, After: extent.Next}
			if rows, extent, err = res.store.Results(ctx, org, id, filter); err != nil {
				return fmt.Errorf("read results: %w", err)
			}
		}
	}), nil
}

func writeResult(file *rest.CSV, v ResultView) error {
	status, message, metadata := "", "", ""
	if v.StatusCode != nil {
		status = strconv.Itoa(*v.StatusCode)
	}
	if v.ErrorMessage != nil {
		message = *v.ErrorMessage
	}
	if v.Metadata != nil {
		text, err := json.Marshal(v.Metadata)
		if err != nil {
			return fmt.Errorf("write metadata: %w", err)
		}
		metadata = string(text)
	}
	return file.Value(v.ID.String()).Value(v.CheckID.String()).Text(v.Region).Value(v.Time.Format(time.RFC3339Nano)).
		Value(strconv.FormatBool(v.Success)).Value(strconv.FormatInt(v.ResponseTimeMS, 10)).Value(status).Text(message).Text(metadata).End()
}
