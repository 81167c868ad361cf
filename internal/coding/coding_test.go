// SPDX-License-Identifier: Apache-2.0

package coding_test

import (
	"net/http"
	"testing"

	"github.com/vigil-monitor/vigil/internal/coding"
)

func TestAccepts(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]struct{ gzip, br bool }{
		"gzip":                         {true, false},
		"gzip, deflate, br, zstd":      {true, true},
		"GZIP;q=0.5":                   {true, false},
		"gzip ; q = 0.001":             {true, false},
		"x-gzip":                       {true, false},
		"*":                            {true, true},
		"*;q=0":                        {false, false},
		"gzip;q=0, *":                  {false, true},
		"*, br;q=0":                    {true, false},
		"gzip;q=0":                     {false, false},
		"gzip;q=0.000":                 {false, false},
		"gzip;q=much":                  {false, false},
		"br;q=1.0, gzip;q=0.8, *;q=0.": {true, true},
		"identity":                     {false, false},
		"not-gzip":                     {false, false},
		"":                             {false, false},
	} {
		h := http.Header{"Accept-Encoding": {header}}
		if gzip, br := coding.Accepts(h, "gzip"), coding.Accepts(h, "br"); gzip != want.gzip || br != want.br {
			t.Errorf("%q: gzip %t, br %t; want %t, %t", header, gzip, br, want.gzip, want.br)
		}
	}
	if coding.Accepts(http.Header{}, "gzip") {
		t.Error("without the header")
	}
	if !coding.Accepts(http.Header{"Accept-Encoding": {"br", "gzip"}}, "gzip") {
		t.Error("two lines")
	}
}
