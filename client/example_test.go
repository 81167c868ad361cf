// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/vigil-monitor/vigil/client"
)

// An answer has a field for each status that the document gives it, and one of them is set.
func ExampleNewClientWithResponses() {
	platform := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("Authorization") != "Bearer vgl_example" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprint(w, `{"error": "Give an API key.", "code": "unauthorized", "request_id": "b3b9f3d2c1a04e5f"}`)
			return
		}
		_, _ = fmt.Fprint(w, `{"data": [{"name": "Shop", "health_status": "healthy"}], "meta": {"total": "1"}}`)
	}))
	defer platform.Close()

	for _, key := range []string{"vgl_example", "vgl_revoked"} {
		vigil, err := client.NewClientWithResponses(platform.URL, client.WithAPIKey(key))
		if err != nil {
			log.Fatal(err)
		}
		limit := int64(100)
		answer, err := vigil.ListChecksWithResponse(context.Background(), &client.ListChecksParams{Limit: &limit})
		switch {
		case err != nil:
			log.Fatal(err)
		case answer.JSON200 != nil:
			for _, check := range answer.JSON200.Data {
				fmt.Println(check.Name, check.HealthStatus)
			}
		case answer.JSON401 != nil:
			fmt.Println(answer.StatusCode(), answer.JSON401.Code)
		}
	}
	// Output:
	// Shop healthy
	// 401 unauthorized
}
