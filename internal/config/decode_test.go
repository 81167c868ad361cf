// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/config"
)

type inner struct {
	Host string `json:"host" doc:"Name of the host"`
	Port int    `json:"port,omitempty" minimum:"1" maximum:"65535" default:"25"`
}

type words struct {
	Title string `json:"title,omitempty" maxLength:"5"`
}

type sample struct {
	Name    string            `json:"name" doc:"What it is called" minLength:"2" maxLength:"5"`
	Mode    string            `json:"mode,omitempty" enum:"4,6,any" default:"any"`
	Rate    float64           `json:"rate,omitempty" minimum:"0.5"`
	Most    int               `json:"most,omitempty" maximum:"9"`
	Any     int               `json:"any,omitempty"`
	Follow  bool              `json:"follow,omitempty" default:"true"`
	Deep    *bool             `json:"deep,omitempty"`
	Server  *inner            `json:"server,omitempty"`
	List    []string          `json:"list,omitempty" minItems:"1" maxItems:"2" maxLength:"3"`
	Servers []inner           `json:"servers,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Raw     map[string]any    `json:"raw,omitempty"`
	Value   any               `json:"value,omitempty"`
	Values  []any             `json:"values,omitempty"`
	Link    string            `json:"link,omitempty" format:"uri"`
	words
}

func TestDecode(t *testing.T) {
	t.Parallel()
	t.Run("FillsEveryMember", func(t *testing.T) {
		t.Parallel()
		yes := true
		want := sample{
			Name: "abc", Mode: "4", Rate: 0.5, Most: 9, Any: -3, Follow: false, Deep: &yes, Server: &inner{"h", 25}, List: []string{"a", "bcd"},
			Servers: []inner{{"x", 1}}, Headers: map[string]string{"A": "b"}, Raw: map[string]any{"n": json.Number("1e2")}, Value: json.Number("7"),
			words: words{Title: "hello"},
		}
		var got sample
		err := config.Decode(
			json.RawMessage(`{"name":"abc","mode":4,"rate":0.5,"most":9.0,"any":-3,"follow":false,"deep":true,"server":{"host":"h"},
			"list":["a","bcd"],"servers":[{"host":"x","port":1}],"headers":{"A":"b"},"raw":{"n":1e2},"value":7,"title":"hello"}`),
			&got,
			"check",
			1<<10,
		)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("GivesDefaultsToWhatIsAbsent", func(t *testing.T) {
		t.Parallel()
		var got sample
		err := config.Decode(json.RawMessage(`{"name":"ab"}`), &got, "check", 1<<10)
		if want := (sample{Name: "ab", Mode: "any", Follow: true}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("NamesTheMistake", func(t *testing.T) {
		t.Parallel()
		for given, want := range map[string]string{
			"": "config: is required, an object with the members of the channel's type", " null ": "config: is required",
			"7": "config: must be an object", "[]": "config: must be an object",
			`{"name"`: "config: is not valid JSON", `{"name":"ab"} {}`: "config: is not valid JSON: something follows",
			strings.Repeat(" ", 1<<10) + "{}": "config: must be at most 1 KiB",
			`{}`:                              "config.name: is required: what it is called", `{"name":null}`: "config.name: is required",
			`{"name":"a"}`:      "config.name: must have at least 2 characters",
			`{"name":"ääääää"}`: "config.name: must have at most 5 characters", `{"name":7}`: "config.name: must be a string",
			`{"name":"ab","mode":5}`: "config.mode: must be a string", `{"name":"ab","mode":"5"}`: "config.mode: must be one of 4, 6, any",
			`{"name":"ab","rate":0.4}`:                                "config.rate: must be a number of at least 0.5",
			`{"name":"ab","most":10}`:                                 "config.most: must be a whole number of at most 9",
			`{"name":"ab","any":1.5}`:                                 "config.any: must be a whole number",
			`{"name":"ab","any":9007199254740992}`:                    "config.any: must be a whole number",
			`{"name":"ab","any":"1"}`:                                 "config.any: must be a whole number",
			`{"name":"ab","follow":"true"}`:                           "config.follow: must be true or false",
			`{"name":"ab","server":{"host":"h","port":0}}`:            "config.server.port: must be a whole number from 1 to 65535",
			`{"name":"ab","server":{}}`:                               "config.server.host: is required: name of the host",
			`{"name":"ab","server":[]}`:                               "config.server: must be an object",
			`{"name":"ab","list":[]}`:                                 "config.list: must have at least 1 entries",
			`{"name":"ab","list":["a","b","c"]}`:                      "config.list: must have at most 2 entries",
			`{"name":"ab","list":["a","bcde"]}`:                       "config.list[1]: must have at most 3 characters",
			`{"name":"ab","list":"a"}`:                                "config.list: must be a list",
			`{"name":"ab","mode":null}`:                               "config.mode: must not be null; leave it out instead",
			`{"name":"ab","server":null}`:                             "config.server: must not be null; leave it out instead",
			`{"name":"ab","value":null}`:                              "config.value: must not be null; leave it out instead",
			`{"name":"ab","values":[null]}`:                           "config.values[0]: must not be null",
			`{"name":"ab","link":""}`:                                 "config.link: must not be empty; leave it out instead",
			`{"name":"ab","list":[null]}`:                             "config.list[0]: must be a string",
			`{"name":"ab","headers":{"A":1}}`:                         "config.headers.A: must be a string",
			`{"name":"ab","headers":"A"}`:                             "config.headers: must be an object",
			`{"name":"ab","name":"cd"}`:                               "config.name: is given twice",
			`{"name":"ab","raw":{"x":{"a":1,"a":2}}}`:                 "config.raw.x.a: is given twice",
			`{"name":"ab","z":1,"y":2}`:                               "config.y: is not a member here; the known ones are name, mode",
			`{"name":"ab","":1}`:                                      "config.: is not a member here",
			`{"name":"ab","a\r\nb":1}`:                                "config.a b: is not a member here",
			`{"name":"ab","` + strings.Repeat("ä", 60) + `":1}`:       "config." + strings.Repeat("ä", 32) + "...: is not a member here",
			`{"name":"ab","raw":` + strings.Repeat(`{"a":`, 20) + "}": "config.raw.a.a.a.a.a.a.a.a.a.a.a.a: is nested too deeply",
		} {
			var got sample
			err := config.Decode(json.RawMessage(given), &got, "channel", 1<<10)
			if vigil.ErrorCode(err) != vigil.CodeInvalid || !strings.HasPrefix(vigil.ErrorMessage(err), want) {
				t.Errorf("%.60s: got %v, want %s", given, err, want)
			}
		}
	})
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	reserved := func(canonical string) bool { return canonical == "Host" }
	header, err := config.Headers("config.headers", map[string]string{"x-api-key": "k", "Accept": "a\tb"}, reserved)
	if err != nil || header.Get("X-Api-Key") != "k" || header["Accept"][0] != "a\tb" || len(header) != 2 {
		t.Errorf("got %v, %v", header, err)
	}
	many := make(map[string]string)
	for i := range 51 {
		many[fmt.Sprint("X-", i)] = "a"
	}
	for want, given := range map[string]map[string]string{
		"config.headers: must have at most 50 entries":    many,
		"config.headers.: is not a valid header name":     {"": "a"},
		"config.headers.X A: is not a valid header name":  {"X A": "a"},
		"config.headers.host: is set by the platform":     {"host": "a"},
		"config.headers.te: is set by the platform":       {"te": "a"},
		"config.headers.x-a: is given twice":              {"X-A": "a", "x-a": "b"},
		"config.headers.X-A: must be a header value with": {"X-A": "a\nb"},
		"config.headers.X-B: must be a header value with": {"X-B": strings.Repeat("a", 8<<10+1)},
		"config.headers.X-C: must be a header value with": {"X-C": "a\x7f"},
	} {
		_, err := config.Headers("config.headers", given, reserved)
		if vigil.ErrorCode(err) != vigil.CodeInvalid || !strings.HasPrefix(vigil.ErrorMessage(err), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if config.IsToken(strings.Repeat("a", 257)) || !config.IsToken(strings.Repeat("a", 256)) {
		t.Error("a header's name has at most 256 bytes")
	}
}
