// SPDX-License-Identifier: Apache-2.0

package rest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/api/rest"
	"github.com/vigil-monitor/vigil/internal/audit"
)

// mostAllocated bounds the bytes that are allocated for a body of 1 MiB before its handler runs.
const mostAllocated = 16 << 20

// full repeats part between begin and end, so that the text has size bytes or a few less.
func full(size int, begin, part, end string) []byte {
	return []byte(begin + strings.Repeat(part, (size-len(begin)-len(end))/len(part)) + end)
}

// costlyBodies are bodies of size bytes of which a careless reader makes much more.
func costlyBodies(size int) map[string][]byte {
	long := func(length int) string { return strings.Repeat("x", max(length, 0)) }
	name := strings.Repeat("n", size/2)
	numbered := func(count int, form string) string {
		var text strings.Builder
		for i := range count {
			fmt.Fprintf(&text, form, i)
		}
		return text.String()
	}
	dotted := numbered(9_000, `"`+strings.Repeat("d.", size/2/9_000/2)+`%d":1,`)
	return map[string][]byte{
		"ALongNameAroundManyElements": full(size, `{"`+name+`":[`, "0,", "0]}"),
		"LongNamesWithin":             full(size, `{"`+name[:size/8]+`":{"`+name[:size/8]+`":{"`+name[:size/8]+`":[`, "0,", "0]}}}"),
		"ManyElements":                full(size, `{"id":[`, "0,", "0]}"),
		"ManyArrays":                  full(size, `{"id":[`, "[],", "0]}"),
		"ManyObjects":                 full(size, `{"id":[`, `{"":0},`, "0]}"),
		"DeepArrays":                  full(size, "", "[", ""),
		"DeepObjects":                 full(size, "", `{"a":`, ""),
		"ManyWrongItems":              full(size, `{"name":"x","regions":[`, "1,", "1]}"),
		"AsManyWrongItems":            []byte(`{"regions":[` + strings.Repeat("{},", 9_000) + `{}],"name":"` + long(size-60_000) + `"}`),
		"ManyUnknownMembers":          []byte(`{` + numbered(9_000, `"m%d":{},`) + `"name":"` + long(size-150_000) + `"}`),
		"ManyUnknownMembersWithDots":  []byte(`{` + dotted + `"name":"x"}`),
		"AllObjects":                  []byte(`{"id":[` + strings.Repeat(`{"":0},`, 4_900) + `0],"name":"` + long(size-70_000) + `"}`),
		"AConfigOfObjects": []byte(`{"name":"x","config":{"a":[` + strings.Repeat(`{"":[]},`, 3_300) +
			`0],"b":"` + long(size-70_000) + `"}}`),
		"ALongText":               full(size, `{"name":"`, "x", `"}`),
		"ALongEscapedText":        full(size, `{"name":"`, `\u00e9`, `"}`),
		"ALongTextBeforeAMistake": full(size, `{"name":"`, "x", `","name":1}`),
		"ALongNumber":             full(size, `{"name":"x","size":`, "9", "}"),
		"ManyNumbers":             full(size, `{"id":[`, "1e-9999999,", "0]}"),
		"Space":                   full(size, `{"name":`, " ", `"x"}`),
		"CutOff":                  full(size, `{"name":"x","id":[`, "0,", ""),
		"ManyDuplicates":          full(size, `{"name":"x",`, `"a":1,`, `"a":1}`),
		"ManyNames":               []byte(`{"name":"x","id":{` + numbered(size/16, `"k%d":0,`) + `"k":0}}`),
		"NamesThatAreEscaped":     full(size, `{"`, `\u0061`, `":1}`),
		"NotUTF8AtTheEnd":         full(size, `{"name":"`, "x", "\xff\"}"),
	}
}

// allocated returns how many bytes a call allocates.
func allocated(call func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestBodiesOfOneMebibyte pins what any body may cost until it is parsed or refused.
func TestBodiesOfOneMebibyte(t *testing.T) { //nolint:paralleltest // what other tests allocate would count
	handler := server(t, func(*audit.Entry) {}).Config.Handler
	for name, body := range costlyBodies(rest.MaxBody) { //nolint:paralleltest // as above
		t.Run(name, func(t *testing.T) {
			for _, announced := range []int64{int64(len(body)), -1} {
				req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/items", bytes.NewReader(body))
				req.Header.Set("Content-Type", "application/json")
				req.ContentLength = announced
				answer := httptest.NewRecorder()
				cost := allocated(func() { handler.ServeHTTP(answer, req) })
				t.Logf("status %d, %.1f MiB", answer.Code, float64(cost)/(1<<20))
				if answer.Code != http.StatusOK && answer.Code != http.StatusBadRequest {
					t.Errorf("status %d: %.200s", answer.Code, answer.Body)
				}
				if cost > mostAllocated {
					t.Errorf("%d bytes were allocated", cost)
				}
				if answer.Code != http.StatusOK && answer.Body.Len() > 4096 {
					t.Errorf("the answer has %d bytes", answer.Body.Len())
				}
			}
		})
	}
}

// BenchmarkBodiesOfOneMebibyte measures how long any body may keep a processor until it is parsed
// or refused. The goal is 100 ms.
func BenchmarkBodiesOfOneMebibyte(b *testing.B) {
	handler := server(b, func(*audit.Entry) {}).Config.Handler
	for name, body := range costlyBodies(rest.MaxBody) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				req := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/v1/items", bytes.NewReader(body))
				req.Header.Set("Content-Type", "application/json")
				handler.ServeHTTP(httptest.NewRecorder(), req)
			}
		})
	}
}

// BenchmarkCheckOfEightMebibytes measures the check and both readings of a body as large as that
// of an apply may be. The goal is 1 s.
func BenchmarkCheckOfEightMebibytes(b *testing.B) {
	const size, values = 8 << 20, 400_000
	bodies := costlyBodies(size)
	objects := strings.Repeat(`{"a":1,"b":[]},`, values/4)
	bodies["AsManyObjects"] = []byte(`{"id":[` + objects + `0],"name":"` + strings.Repeat("x", 4<<20) + `"}`)
	for name, body := range bodies {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if rest.CheckJSON(b.Context(), body, values) != nil {
					continue
				}
				for range 2 {
					var tree any
					if err := json.Unmarshal(body, &tree); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// FuzzBody pins that no body costs more than one of its length may, and that what passes is
// JSON that can be read in one way only.
func FuzzBody(f *testing.F) {
	for _, body := range costlyBodies(2048) {
		f.Add(body)
	}
	for _, body := range []string{"", "{}", `{"name":"x","config":{"a.b":[1,{"c[0]":"\ud83d\udea8"}]}}`, `[1,2`, `{"a":1,"a":2}`} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if err := rest.CheckJSON(t.Context(), body, 100); err != nil {
			if message := vigil.ErrorMessage(err); vigil.ErrorCode(err) != vigil.CodeInvalid || len(message) > 1024 {
				t.Errorf("%v", err)
			}
			return
		}
		var tree any
		if err := json.Unmarshal(body, &tree); err != nil {
			t.Errorf("it passed: %v", err)
		}
		if cost := allocated(func() { _ = rest.CheckJSON(t.Context(), body, 100) }); cost > 64<<10+8*uint64(len(body)) {
			t.Errorf("%d bytes were allocated for %d", cost, len(body))
		}
	})
}

// gone is a context that ends after its error was asked for once.
type gone struct {
	context.Context //nolint:containedctx // it is one
	asked           int
}

func (g *gone) Err() error {
	if g.asked++; g.asked > 1 {
		return context.Canceled
	}
	return nil
}

func TestCheckOfABodyEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx := &gone{Context: t.Context()}
	body := full(rest.MaxBody, "[", "0,", "0]")
	if err := rest.CheckJSON(ctx, body, len(body)); !errors.Is(err, context.Canceled) || ctx.asked != 2 {
		t.Errorf("asked %d times: %v", ctx.asked, err)
	}
}
