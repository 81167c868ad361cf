// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/storage"
)

// TestEvidenceIsShownAsText holds that the page of a check shows the evidence of a failure, and
// that nothing of it becomes markup.
func TestEvidenceIsShownAsText(t *testing.T) {
	t.Parallel()
	s := open(t, "")
	b, _ := s.signUp(t)
	check := uuid.MustParse(s.check(t, b))
	slot := time.Now().Add(time.Second)
	writer := storage.NewResultWriter(s.store, storage.WriterOptions{Delay: time.Millisecond})
	ctx, done := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- writer.Run(ctx) }()
	_, err := writer.Write(t.Context(), vigil.ResultRow{Result: vigil.Result{
		CheckID: check, Region: "na-east-ewr", Slot: slot, Time: slot,
		Observation: vigil.Observation{Error: "status 503", StatusCode: 503, Evidence: &vigil.Evidence{
			StatusLine: "HTTP/1.1 503 <b>Busy</b>", Address: "203.0.113.7:443", CertificateError: "expired <i>long ago</i>",
			Headers: []vigil.EvidenceHeader{{Name: "X-Note", Value: "<img src=x onerror=alert(1)>"}},
			Body:    &vigil.EvidenceContent{Text: "<script>alert(2)</script>", Bytes: 25},
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	done()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	page := b.get(t, http.StatusOK, "/app/checks/"+check.String())
	page.shows(t, "<summary>Evidence</summary>", "HTTP/1.1 503 &lt;b&gt;Busy&lt;/b&gt;", "203.0.113.7:443",
		"X-Note: &lt;img src=x onerror=alert(1)&gt;", "&lt;script&gt;alert(2)&lt;/script&gt;", "expired &lt;i&gt;long ago&lt;/i&gt;")
	for _, markup := range []string{"<script>alert", "<img src=x", "<b>Busy", "<i>long"} {
		if strings.Contains(page.text, markup) {
			t.Errorf("the page has %s", markup)
		}
	}
}
