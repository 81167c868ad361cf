// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"net/http"
	"strings"
	"testing"
)

func TestReportPages(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	b, _ := s.signUp(t)
	other, _ := s.signUp(t)
	id := s.create(
		t,
		b,
		"/v1/checks",
		`{"name":"=Shop","type":"https","interval_seconds":60,"regions":["na-east-ewr"],"labels":{"team":"shop"},
		"config":{"url":"https://127.0.0.1:1/"},"enabled":false}`,
	)
	t.Run("ShowsChecksDaysAndAll", func(t *testing.T) {
		t.Parallel()
		b.get(t, http.StatusOK, "/app/reports?label=team%3Dshop&timezone=Europe%2FBerlin&target=99").
			shows(t, "=Shop", "/app/checks/"+id, "All checks", "By day", "of a target of 99 %", "Europe/Berlin", "/app/reports.csv?")
		other.get(t, http.StatusOK, "/app/reports").shows(t, "No check matches")
	})
	t.Run("NamesWhatIsWrong", func(t *testing.T) {
		t.Parallel()
		for query, field := range map[string]string{
			"month=2026-13": "month", "timezone=Mars": "timezone", "target=100": "target", "target=x": "target", "label=%3D": "label",
		} {
			b.get(t, http.StatusUnprocessableEntity, "/app/reports?"+query).shows(t, `id="f-`+field+`-error"`)
		}
	})
	t.Run("SendsTheFile", func(t *testing.T) {
		t.Parallel()
		file := b.get(t, http.StatusOK, "/app/reports.csv?label=team%3Dshop")
		if !strings.HasPrefix(file.header.Get("Content-Type"), "text/csv") || !strings.Contains(file.text, "'=Shop") ||
			!strings.HasPrefix(file.header.Get("Content-Disposition"), "attachment") {
			t.Errorf("%v: %s", file.header, file.text)
		}
		b.get(t, http.StatusBadRequest, "/app/reports.csv?month=x")
	})
}
