// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/secret"
)

func TestEvidence(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	check := a.check(t)
	id := parseUUID(t, text(check, "id"))
	failure := result(id, b.clock.Now(), false)
	failure.Evidence = &vigil.Evidence{
		StatusLine: "HTTP/1.1 503 Service Unavailable", Headers: []vigil.EvidenceHeader{{Name: "Set-Cookie", Value: secret.Mask}},
		Body: &vigil.EvidenceContent{Text: "<script>alert(1)</script>", Bytes: 25},
	}
	b.record(t, failure, result(id, b.clock.Now().Add(time.Second), false))
	b.clock.Advance(10 * time.Second)
	path := "/v1/checks/" + id.String() + "/results"

	t.Run("IsInAListThatAsksForIt", func(t *testing.T) {
		t.Parallel()
		rows := a.want(t, http.StatusOK, http.MethodGet, path+"?evidence=true", nil).rows(t)
		evidence, _ := rows[1]["evidence"].(map[string]any)
		body, _ := evidence["body"].(map[string]any)
		if rows[1]["has_evidence"] != true || evidence["status_line"] != "HTTP/1.1 503 Service Unavailable" ||
			body["text"] != "<script>alert(1)</script>" {
			t.Errorf("row %v", rows[1])
		}
		if _, given := rows[0]["evidence"]; given || rows[0]["has_evidence"] != false {
			t.Errorf("row %v", rows[0])
		}
	})
	t.Run("IsNotInOtherLists", func(t *testing.T) {
		t.Parallel()
		rows := a.want(t, http.StatusOK, http.MethodGet, path, nil).rows(t)
		if _, given := rows[1]["evidence"]; given || rows[1]["has_evidence"] != true {
			t.Errorf("row %v", rows[1])
		}
	})
	t.Run("IsNotForAnotherOrganization", func(t *testing.T) {
		t.Parallel()
		b.signup(t).want(t, http.StatusNotFound, http.MethodGet, path+"?evidence=true", nil)
	})
}

func TestCheckMemberEvidence(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.signup(t)
	check := a.check(t)
	if check["evidence"] != true {
		t.Errorf("a new check has %v", check["evidence"])
	}
	path := "/v1/checks/" + text(check, "id")
	off := a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"evidence": false}).data(t)
	if off["evidence"] != false || off["revision"] != 2.0 {
		t.Errorf("evidence %v, revision %v", off["evidence"], off["revision"])
	}
	if again := a.want(t, http.StatusOK, http.MethodPut, path, map[string]any{"name": "Other"}).data(t); again["evidence"] != false {
		t.Error("another change switched it on")
	}
	a.want(t, http.StatusBadRequest, http.MethodPut, path, map[string]any{"evidence": "no"})
}
