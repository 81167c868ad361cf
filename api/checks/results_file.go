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

	"github.com/vigil-monitor/vigil"
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
	return resource.RowsFile[vigil.Result]{
		Name: "results-" + id.String(), PageRows: filePage,
		Header: []string{"id", "check_id", "region", "time", "success", "response_time_ms", "status_code", "error_message", "metadata"},
		Read: func(ctx context.Context, page listing.Page) ([]vigil.Result, listing.Extent, error) {
			filter.Page = page
			return res.store.Results(ctx, org, id, filter)
		},
		Write: writeResult,
	}.Stream(ctx, res.files, org)
}

func writeResult(file *rest.CSV, result *vigil.Result) error {
	v := ShowResult(*result)
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
