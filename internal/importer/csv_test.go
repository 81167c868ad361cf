// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil/internal/importer"
)

func csvText(tb testing.TB, text string) (*importer.Result, error) {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "checks.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return source(tb, "csv").Read(path, options())
}

// TestCSV imports tables as editors and spreadsheets write them.
func TestCSV(t *testing.T) {
	t.Parallel()
	const comma = "name,type,target,interval,labels\n\"Home, page\",https,https://shop.example/?a=1,5m,team=shop env=prod\n" +
		"DB,tcp,db.shop.example:5432,,\nName ${HOME},domain,example.com,24h,\n\n"
	for name, text := range map[string]string{
		"Comma": comma, "CRLF": strings.ReplaceAll(comma, "\n", "\r\n"), "CR": strings.ReplaceAll(comma, "\n", "\r"),
		"BOM": "\xef\xbb\xbf" + comma,
		"Excel": "\xef\xbb\xbfName;Type;Target;Interval;Labels\r\n\"Home, page\";https;https://shop.example/?a=1;5m;team=shop, env=prod\r\n" +
			"DB;tcp;db.shop.example:5432;;\r\nName ${HOME};domain;example.com;24h;\r\n",
		"Separator": "sep=;\r\nname;type;target;interval;labels\r\n\"Home, page\";HTTPS;https://shop.example/?a=1;300;team=shop|env=prod\r\n" +
			"DB;tcp;db.shop.example:5432;;\r\nName ${HOME};domain;example.com;24h;\r\n",
		"Tabs": "name\ttype\ttarget\tinterval\tlabels\n\"Home, page\"\thttps\thttps://shop.example/?a=1\t5m\tteam:shop env:prod\n" +
			"DB\ttcp\ttcp://db.shop.example:5432\nName ${HOME}\tdomain\texample.com\t24h\n",
		"OtherOrder": "labels,target,name\nteam=shop env=prod,https://shop.example/?a=1,\"Home, page\"\n,tcp://db.shop.example:5432,DB\n" +
			",domain://example.com,Name ${HOME},,\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, err := csvText(t, text)
			if err != nil {
				t.Fatal(err)
			}
			got := write(t, result)
			interval := `"5m"`
			if name == "OtherOrder" {
				interval = `"60s"`
			}
			want := `{"config":{"url":"https://shop.example/?a=1"},"interval":` + interval +
				`,"labels":{"env":"prod","team":"shop"},"name":"Home, page","type":"https"}`
			if check := strings.Replace(at(t, got.document, "checks", "home-page"), `"1m"`, `"60s"`, 1); check != want {
				t.Errorf("the check is %s", check)
			}
			if config := at(t, got.document, "checks", "db", "config"); config != `{"host":"db.shop.example","port":5432}` {
				t.Errorf("the tcp check has %s", config)
			}
			if text := at(t, got.document, "checks", "name-home", "name"); text != `"Name ${HOME}"` || result.Lossy() {
				t.Errorf("the name is %s\n%s", text, got.report)
			}
		})
	}
}

// TestCSVTypes holds what each type of a row becomes.
func TestCSVTypes(t *testing.T) {
	t.Parallel()
	for row, want := range map[string]string{
		"http,shop example/a":              "",
		"http,shop.example:8080/a":         `{"url":"http://shop.example:8080/a"}`,
		"https,shop.example":               `{"url":"https://shop.example"}`,
		",https://shop.example/?token=abc": `{"url":"https://shop.example/?token=$CHECK_X_TOKEN"}`,
		"tcp,[2606:4700::1111]:53":         `{"host":"2606:4700::1111","port":53}`,
		"ping,1.1.1.1":                     `{"host":"1.1.1.1"}`,
		"dns,shop.example":                 `{"host":"shop.example","record_type":"A"}`,
		"ssl,shop.example":                 `{"host":"shop.example","port":443}`,
		"ssl,https://shop.example:8443/a":  `{"host":"shop.example","port":8443}`,
		"domain,example.com":               `{"domain":"example.com"}`,
		"websocket,wss://shop.example/ws":  `{"url":"wss://shop.example/ws"}`,
		",wss://shop.example/ws":           `{"url":"wss://shop.example/ws"}`,
		"grpc,shop.example:443":            `{"host":"shop.example","port":443}`,
		// A formula of a spreadsheet is a text like others.
		"tcp,\"=HYPERLINK(\"\"a\"\")\"": "",
	} {
		t.Run(row, func(t *testing.T) {
			t.Parallel()
			result, err := csvText(t, "type,target,name\n"+row+",=1+1 | X\n")
			if want == "" {
				if err == nil || !strings.Contains(err.Error(), "line 2, column") {
					t.Errorf("the error is %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := write(t, result)
			config := strings.Replace(at(t, got.document, "checks", "1-1-x", "config"), "CHECK_1_1_X", "CHECK_X", 1)
			if config != want || at(t, got.document, "checks", "1-1-x", "name") != `"=1+1 | X"` || result.Lossy() {
				t.Errorf("the config is %s\n%s", config, got.report)
			}
			if strings.Contains(files(t, got.dir), "token=abc") {
				t.Error("a token stands outside of .env")
			}
		})
	}
}

// TestCSVErrors pins that what a table has wrong is named with its line and column.
func TestCSVErrors(t *testing.T) {
	t.Parallel()
	const head = "name,type,target,interval,labels\n"
	for name, tt := range map[string]struct{ text, says string }{
		"Empty":      {"", "is empty"},
		"NoRow":      {head, "has no row"},
		"Column":     {"name,url\n", `line 1, column 6: "url" is no column`},
		"Twice":      {"target,target\n", "line 1, column 8: the column target is there twice"},
		"NoTarget":   {"name,type\n", "has no column target"},
		"Missing":    {head + "a,tcp,,,\n", "line 2, column 7: target: is missing"},
		"Quote":      {head + "a,tcp,\"b\"c:1,,\n", "line 2, column"},
		"OpenQuote":  {head + "a,tcp,\"b:1,,\n", "line "},
		"Type":       {head + "a,tcp,b:1,,\nb,gopher,c,,\n", `line 3, column 3: type: the type "gopher" is none of`},
		"Scheme":     {"target\ngopher://a\n", `line 2, column 1: target: the type "gopher" is none of`},
		"Skipped":    {"sep=,\ntarget\ngopher://a\n", `line 3, column 1: target`},
		"OtherType":  {head + "a,https,http://b.example/,,\n", `line 2, column 3: type: is https, and the target begins with http://`},
		"Interval":   {head + "a,tcp,b:1,soon,\n", `line 2, column 11: interval: "soon"`},
		"Formula":    {head + "a,tcp,b:1,=A1*2,\n", `line 2, column 11: interval: "=A1*2"`},
		"Negative":   {head + "a,tcp,b:1,-5s,\n", "line 2, column 11: interval"},
		"Long":       {head + "a,tcp,b:1,99999h,\n", "line 2, column 11: interval"},
		"Labels":     {head + "a,tcp,b:1,,shop\n", `line 2, column 12: labels: "shop"`},
		"Port":       {head + "a,tcp,b,,\n", "line 2, column 7: target: needs a host and a port"},
		"User":       {head + "a,https,https://u:p@b.example/,,\n", "line 2, column 9: target: has a user"},
		"Wide":       {head + "a,tcp,b:1,,,x\n", "the row has 6 columns"},
		"NUL":        {head + "a\x00,tcp,b:1,,\n", "no text in UTF-8"},
		"Latin1":     {head + "\xe4,tcp,b:1,,\n", "no text in UTF-8"},
		"UTF16":      {"\xff\xfet\x00a\x00", "no text in UTF-8"},
		"Large":      {strings.Repeat("x", 9<<20), "is larger than 8 MiB"},
		"Many":       {"target\n" + strings.Repeat("tcp://b:1\n", 10_001), "line 10002, column 1: the table has more than 10000 rows"},
		"Million":    {"target\n" + strings.Repeat("a\n", 1_000_000), "are not read, after 20 errors"},
		"LongName":   {head + strings.Repeat("x", 1<<20) + ",tcp,b:1,,\n", "line 2, column 1: name: is longer than 200 characters"},
		"LongTarget": {head + "a,https,https://b.example/" + strings.Repeat("x", 1<<20) + ",,\n", "line 2, column 9: target"},
		"LongType":   {head + "a," + strings.Repeat("x", 1<<20) + ",b:1,,\n", "line 2, column 3: type"},
		"LongLabels": {head + "a,tcp,b:1,," + strings.Repeat("x=y ", 1<<18) + "\n", "labels: are longer than"},
		"LongColumn": {strings.Repeat("x", 1<<20) + "\n", "is no column"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := csvText(t, tt.text)
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Fatalf("%.300v", err)
			}
			if len(err.Error()) > 5000 || strings.Contains(err.Error(), "u:p@") {
				t.Errorf("the error has %d bytes: %.300v", len(err.Error()), err)
			}
		})
	}
}

// TestCSVAllErrors pins that the errors of all rows are named at once.
func TestCSVAllErrors(t *testing.T) {
	t.Parallel()
	_, err := csvText(t, "target,interval\ngopher://a,\ntcp://b:1,soon\ntcp://b:1,5m\ntcp://b,\n")
	for _, says := range []string{"line 2, column 1: target", "line 3, column 11: interval", "line 5, column 1: target"} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("the errors lack %s:\n%v", says, err)
		}
	}
}

// TestCSVOfOneName imports a long table: each row has the same name and gets a key of its own.
func TestCSVOfOneName(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("name,target,labels\n")
	const rows = 2000
	for i := range rows {
		fmt.Fprintf(&text, "Same,tcp://host-%d.example:443,team=shop\n", i)
	}
	result, err := csvText(t, text.String())
	if err != nil {
		t.Fatal(err)
	}
	got := write(t, result)
	if last := at(t, got.document, "checks", fmt.Sprintf("same-%d", rows), "config"); !strings.Contains(last, "host-1999.example") {
		t.Errorf("the last check is %s", last)
	}
}
