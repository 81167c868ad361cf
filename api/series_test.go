// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"
)

// TestSeriesBetweenInstants reads the series of a check between two instants, and names what is no time.
func TestSeriesBetweenInstants(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	made := a.check(t)
	id := text(made, "id")
	path := "/v1/checks/" + id + "/series"
	now, err := time.Parse(time.RFC3339, text(made, "created_at")) // the present of the test
	if err != nil {
		t.Fatal(err)
	}
	at := func(before time.Duration) string { return url.QueryEscape(now.Add(-before).UTC().Format(time.RFC3339)) }
	whole := a.want(t, http.StatusOK, http.MethodGet, path, nil).data(t)
	if whole["period"] != "24h" || whole["statistic"] != "mean" || whole["kept_from"] != nil || whole["maintenance"] == nil {
		t.Errorf("without parameters it is %v", whole)
	}
	span := a.want(t, http.StatusOK, http.MethodGet, path+"?statistic=p95&from="+at(2*time.Hour)+"&to="+at(time.Hour), nil).data(t)
	if span["period"] != "custom" || span["statistic"] != "p95" || span["resolution"] != "result" {
		t.Errorf("an hour is %v", span)
	}
	for query, member := range map[string]string{
		"?from=yesterday":                                     "from",
		"?to=" + at(time.Hour):                                "from",
		"?from=" + at(time.Hour) + "&to=%00":                  "to",
		"?from=" + at(time.Hour) + "&to=" + at(time.Hour):     "to",
		"?from=" + at(time.Hour) + "&to=" + at(2*time.Hour):   "to",
		"?from=2020-01-01&to=2022-01-01":                      "to",
		"?from=" + at(-time.Hour) + "&to=" + at(-2*time.Hour): "from",
		"?from=2026-01-01&timezone=Here":                      "timezone",
		"?statistic=p42":                                      "statistic",
	} {
		if got := a.want(t, http.StatusBadRequest, http.MethodGet, path+query, nil); got.detail("member") != member {
			t.Errorf("%s: %s", query, got.raw)
		}
	}
	b.signup(t).want(t, http.StatusNotFound, http.MethodGet, path+"?from="+at(time.Hour), nil)
}
