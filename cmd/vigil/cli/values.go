// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/vigil-monitor/vigil/internal/console"
)

// duration reads a duration such as 90s, 1h or 30d.
func duration(flag, text string) (time.Duration, error) {
	number, isDays := strings.CutSuffix(text, "d")
	if isDays {
		if days, err := strconv.ParseFloat(number, 64); err == nil && days >= 0 && days < 100_000 {
			return time.Duration(days * 24 * float64(time.Hour)), nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 && !isDays {
		return d, nil
	}
	return 0, console.Errorf(console.Usage, "%s is %q; it must be a duration such as 30s, 1h or 90d", flag, text)
}

// seconds reads a duration of whole seconds.
func seconds(flag, text string) (int64, error) {
	d, err := duration(flag, text)
	if err != nil {
		return 0, err
	}
	if d%time.Second != 0 || d == 0 {
		return 0, console.Errorf(console.Usage, "%s is %q; it must be whole seconds, such as 30s", flag, text)
	}
	return int64(d / time.Second), nil
}

// assign sets a member of an object from key=value. A dot in the key leads into an
// object. The value is JSON if it can be read as such, else a text.
func assign(flag string, object map[string]any, text string) error {
	key, value, ok := strings.Cut(text, "=")
	if !ok || key == "" {
		return console.Errorf(console.Usage, "%s is %q; it must be key=value", flag, text)
	}
	path := strings.Split(key, ".")
	for _, name := range path[:len(path)-1] {
		inner, ok := object[name].(map[string]any)
		if !ok {
			if object[name] != nil {
				return console.Errorf(console.Usage, "%s %s: %s is no object", flag, key, name)
			}
			inner = map[string]any{}
			object[name] = inner
		}
		object = inner
	}
	var parsed any
	if json.Unmarshal([]byte(value), &parsed) != nil {
		parsed = value
	}
	object[path[len(path)-1]] = parsed
	return nil
}

// labels reads key=value pairs.
func labels(pairs []string) (map[string]string, error) {
	if len(pairs) == 0 {
		return nil, nil
	}
	read := map[string]string{}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, console.Errorf(console.Usage, "--label is %q; it must be key=value", pair)
		}
		read[key] = value
	}
	return read, nil
}

// maxInput bounds a file that a command reads, in bytes.
const maxInput = 4 << 20

// input reads a file, or standard input for -.
func input(con *console.Console, path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(io.LimitReader(con.In, maxInput))
	}
	file, err := os.Open(path) //nolint:gosec // the user names it
	if err != nil {
		return nil, console.Errorf(console.Usage, "%w", err)
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(io.LimitReader(file, maxInput))
}

// object reads a file of one JSON or YAML object.
func object(con *console.Console, path string) (map[string]any, error) {
	text, err := input(con, path)
	if err != nil {
		return nil, err
	}
	body, err := console.FromYAML(text)
	if err != nil {
		return nil, console.Errorf(console.Usage, "%s: %w", path, err)
	}
	var read map[string]any
	if json.Unmarshal(body, &read) != nil || read == nil {
		return nil, console.Errorf(console.Usage, "%s has no object of JSON or YAML", path)
	}
	return read, nil
}

// every formats an interval.
func every(seconds int64) string {
	d := time.Duration(seconds) * time.Second
	text := d.String()
	if strings.HasSuffix(text, "m0s") && d >= time.Minute {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// health is a cell for a state of health.
func health(state string) console.Cell {
	tones := map[string]console.Tone{
		"healthy": console.Good, "online": console.Good, "resolved": console.Good, "delivered": console.Good,
		"running": console.Good, "ok": console.Good,
		"unhealthy": console.Bad, "offline": console.Bad, "active": console.Bad, "exhausted": console.Bad,
		"critical": console.Bad, "failed": console.Bad, "no result": console.Bad,
		"unknown": console.Doubtful, "warning": console.Doubtful, "acknowledged": console.Doubtful, "pending": console.Doubtful,
		"blind":  console.Doubtful,
		"paused": console.Faint, "disabled": console.Faint,
	}
	return console.Word(state).Toned(tones[state])
}

// value returns what a pointer leads to, or the zero value.
func value[T any](pointer *T) T {
	if pointer == nil {
		var zero T
		return zero
	}
	return *pointer
}
