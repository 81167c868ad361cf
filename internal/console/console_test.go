// SPDX-License-Identifier: Apache-2.0

package console_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"pgregory.net/rapid"

	"github.com/vigil-monitor/vigil/internal/console"
)

// noon is the clock of the tests.
func noon() time.Time { return time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC) }

// on returns a console without terminals, and its two outputs.
func on(input string) (c *console.Console, out, errs *bytes.Buffer) {
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	return console.Open(strings.NewReader(input), out, errs, noon), out, errs
}

func table() console.List {
	at := noon().Add(-31 * time.Second)
	return console.List{
		Columns: console.Columns("ID", "NAME", "HEALTH", "LAST", "+MORE"),
		Rows: [][]console.Cell{
			{
				console.ID("01a21251-4a0e-7000-8000-00006f1c2d0a"), console.Text("Home page"), console.Word("healthy").Toned(console.Good),
				console.Time(&at), console.Number(12345),
			},
			{
				console.ID("a07e51b9"), console.Text("API\twith\x1b[2Ja tab\n"), console.Word("unhealthy").Toned(console.Bad),
				console.Time(nil), console.Number(-7),
			},
		},
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		set  func(*console.Console)
		want string
	}{
		"PipeHasWholeValues": {
			func(*console.Console) {},
			"01a21251-4a0e-7000-8000-00006f1c2d0a\tHome page\thealthy\t2026-05-01T11:59:29Z\na07e51b9\tAPI with[2Ja tab \tunhealthy\t\n",
		},
		"WideHasMoreColumns": {
			func(c *console.Console) { c.Format = console.Wide },
			"01a21251-4a0e-7000-8000-00006f1c2d0a\tHome page\thealthy\t2026-05-01T11:59:29Z\t12345\n" +
				"a07e51b9\tAPI with[2Ja tab \tunhealthy\t\t-7\n",
		},
		"TerminalHasAlignedColumns": {
			func(c *console.Console) { c.OutTTY = true },
			"ID        NAME               HEALTH     LAST\n6f1c2d0a  Home page          healthy    31s ago\n" +
				"a07e51b9  API with[2Ja tab   unhealthy\n",
		},
		"NarrowTerminalHasShorterTexts": {
			func(c *console.Console) { c.OutTTY, c.Width = true, 43 },
			"ID        NAME           HEALTH     LAST\n6f1c2d0a  Home page      healthy    31s ago\na07e51b9  API with[2Ja…  unhealthy\n",
		},
		"ColourIsBesidesTheWords": {
			func(c *console.Console) { c.OutTTY, c.Colour, c.Format = true, true, console.Wide },
			"ID        NAME               HEALTH     LAST     MORE\n" +
				"6f1c2d0a  Home page          \x1b[32mhealthy\x1b[0m    31s ago  12,345\n" +
				"a07e51b9  API with[2Ja tab   \x1b[31munhealthy\x1b[0m           -7\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, out, _ := on("")
			test.set(c)
			if err := c.Print(console.Answer{Parts: []console.Part{table()}}); err != nil {
				t.Fatal(err)
			}
			if out.String() != test.want {
				t.Errorf("got\n%q, want\n%q", out, test.want)
			}
		})
	}

	t.Run("EmptyListIsANote", func(t *testing.T) {
		t.Parallel()
		c, out, errs := on("")
		if err := c.Print(console.Answer{Parts: []console.Part{console.List{Empty: "No checks."}}}); err != nil {
			t.Fatal(err)
		}
		if out.Len() > 0 || errs.String() != "No checks.\n" {
			t.Errorf("prints %q, notes %q", out, errs)
		}
	})
}

func TestFormats(t *testing.T) {
	t.Parallel()
	const body = `{"data":[{"id":"a","name":"Zoë","n":1.5,"big":9007199254740993,"on":"yes","none":null},{"id":"b"}],"meta":{"total":"2"}}`
	for name, test := range map[string]struct {
		format console.Format
		query  string
		want   string
	}{
		"JSON": {console.JSON, "", body + "\n"},
		"YAML": {
			console.YAML, "",
			"data:\n  - id: a\n    name: Zoë\n    \"n\": 1.5\n    big: 9007199254740993\n" +
				"    \"on\": \"yes\"\n    none: null\n  - id: b\nmeta:\n  total: \"2\"\n",
		},
		"Name":          {console.Name, "", "a\nb\n"},
		"QueryOfTexts":  {console.Table, ".data[].id", "a\nb\n"},
		"QueryOfJSON":   {console.JSON, ".data[0] | [.n, .big]", "[1.5,9007199254740993]\n"},
		"QueryThatEnds": {console.JSON, `.data[].id, halt, "never"`, "a\nb\n"},
		"NoEnvironment": {console.JSON, "env | length", "0\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, out, _ := on("")
			c.Format = test.format
			if test.query != "" {
				query, err := console.ParseQuery(test.query)
				if err != nil {
					t.Fatal(err)
				}
				c.Query = query
			}
			if err := c.Print(console.Answer{Body: []byte(body)}); err != nil {
				t.Fatal(err)
			}
			if out.String() != test.want {
				t.Errorf("got\n%s\nwant\n%s", out, test.want)
			}
		})
	}

	t.Run("MistakesAreOfTheCommandLine", func(t *testing.T) {
		t.Parallel()
		if _, err := console.ParseQuery(".["); console.CodeOf(err) != console.Usage {
			t.Errorf("a wrong expression gives %v", err)
		}
		if _, err := console.ParseQuery("nothing"); console.CodeOf(err) != console.Usage {
			t.Errorf("an unknown function gives %v", err)
		}
		if _, err := console.ParseFormat("xml"); console.CodeOf(err) != console.Usage {
			t.Errorf("an unknown format gives %v", err)
		}
	})
}

// What is shown as YAML means the same when it is read as YAML.
func TestYAMLKeepsValues(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			"", "null", "~", "yes", "on", "1", "0x10", "1e3", ".5", "- a", "a: b", "#c", "a #c", "'", `"`, "|", ">", "*a", "&a", "!t", "%", "@", "`",
			"a\nb", "a\n", "a\n\n", "\na", "a\n b\n", "a: |\n  b", "a ", "a:", "http://a/b?c=d&e=f#g", "a: b # c",
			"-", "-a", "?a", "TRUE", "Null", "\n", " a", "a ", "\t", "2026-05-01", "2026-05-01T12:00:00Z", "12:30", "...", "---", "{", "[", "***",
		}))
		value := map[string]any{"k": text.Draw(t, "text"), "list": []any{text.Draw(t, "item"), true, nil, 1.5}, text.Draw(t, "key"): "v"}
		body, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		asYAML, err := console.ToYAML(body)
		if err != nil {
			t.Fatal(err)
		}
		back, err := console.FromYAML(asYAML)
		if err != nil {
			t.Fatalf("%s\n%v", asYAML, err)
		}
		var got, want any
		if err := errors.Join(json.Unmarshal(back, &got), json.Unmarshal(body, &want)); err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if !bytes.Equal(a, b) {
			t.Fatalf("%s\nis read as %s, want %s", asYAML, a, b)
		}
		if err := yaml.Unmarshal(asYAML, &got); err != nil {
			t.Fatal(err)
		}
	})
}

func TestConfirm(t *testing.T) {
	t.Parallel()
	change := func(n int) console.Change {
		c := console.Change{Action: "delete", Kind: "check"}
		for range n {
			c.Objects = append(c.Objects, console.Object{ID: "01a21251-6f1c2d0a", Name: "Home"})
		}
		return c
	}
	terminal := func(input string) (*console.Console, *bytes.Buffer) {
		c, _, errs := on(input)
		c.InTTY, c.ErrTTY = true, true
		return c, errs
	}
	for name, test := range map[string]struct {
		n         int
		answer    string
		confirmed bool
		asks      string
	}{
		"OneByYes":             {1, "y\n", true, `Delete the check "Home" (6f1c2d0a)? [y/N] `},
		"OneByTheWord":         {1, "YES\n", true, ""},
		"NoIsNo":               {1, "n\n", false, ""},
		"EmptyIsNo":            {1, "\n", false, ""},
		"EndOfInputIsNo":       {1, "", false, ""},
		"FiveByYes":            {5, "y\n", true, "Delete these 5 checks? [y/N] "},
		"SixNotByYes":          {6, "y\n", false, "Delete all 6 checks? Type their number to confirm: "},
		"SixByTheirNumber":     {6, "6\n", true, ""},
		"SixNotByAnother":      {6, "5\n", false, ""},
		"NothingNeedsNoAnswer": {0, "", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, errs := terminal(test.answer)
			err := c.Confirm(change(test.n))
			if (err == nil) != test.confirmed || err != nil && console.CodeOf(err) != console.Usage {
				t.Errorf("gives %v", err)
			}
			if !strings.HasSuffix(errs.String(), test.asks) {
				t.Errorf("asks %q", errs)
			}
		})
	}

	t.Run("WithoutTerminalTheChangeIsPrinted", func(t *testing.T) {
		t.Parallel()
		c, out, _ := on("y\n")
		err := c.Confirm(change(1))
		want := `{"confirmation_required":{"action":"delete","kind":"check","objects":[{"id":"01a21251-6f1c2d0a","name":"Home"}]}}` + "\n"
		if console.CodeOf(err) != console.Usage || out.String() != want {
			t.Errorf("gives %v, prints %s", err, out)
		}
		c.Yes = true
		if err := c.Confirm(change(100)); err != nil {
			t.Errorf("with Yes it gives %v", err)
		}
	})
}

func TestColourRules(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tty                    bool
		noColor, force, termin string
		off, want              bool
	}{
		"Terminal":             {true, "", "", "xterm", false, true},
		"Pipe":                 {false, "", "", "xterm", false, false},
		"NoColor":              {true, "1", "", "xterm", false, false},
		"NoColorThatIsEmpty":   {true, "", "", "", false, true},
		"DumbTerminal":         {true, "", "", "dumb", false, false},
		"Flag":                 {true, "", "1", "xterm", true, false},
		"ForcedInAPipe":        {false, "", "1", "xterm", false, true},
		"ForceOfZeroIsNoForce": {false, "", "0", "xterm", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _, _ := on("")
			c.OutTTY = test.tty
			c.ChooseColour(test.noColor, test.force, test.termin, test.off)
			if c.Colour != test.want {
				t.Errorf("colour is %t", c.Colour)
			}
		})
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "0s", 20 * time.Millisecond: "20ms", 119 * time.Second: "119s", 2 * time.Minute: "2m", 119 * time.Minute: "119m", 2 * time.Hour: "2h",
		47 * time.Hour: "47h", 48 * time.Hour: "2d", 400 * 24 * time.Hour: "400d",
	} {
		if got := console.Span(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
	if got := console.Ago(noon().Add(time.Hour), noon()); got != "in 60m" {
		t.Errorf("an hour ahead is %s", got)
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	cause := io.ErrUnexpectedEOF
	err := console.Errorf(console.Unreachable, "no answer: %w", cause)
	if console.CodeOf(err) != console.Unreachable || !errors.Is(err, cause) || err.Error() != "no answer: unexpected EOF" {
		t.Errorf("got %v, code %d", err, console.CodeOf(err))
	}
	if console.CodeOf(nil) != console.Done || console.CodeOf(cause) != console.Failed || console.Silent(console.No).Error() != "" {
		t.Error("the codes of nil, of another error and of a silent one are wrong")
	}
}

// On a narrow terminal the columns that name a thing stay and fit; the others are named in
// a note. What is no terminal gets all of them.
func TestNarrowTable(t *testing.T) {
	t.Parallel()
	wide := console.List{
		Columns: console.Columns("ID", "NAME", "HEALTH", "REGIONS", "LAST", "UPTIME", "OWNER"),
		Rows: [][]console.Cell{{
			console.ID("6f1c2d0a-0000-4000-8000-000000000000"), console.Text("The home page of the whole shop, with all of its parts"),
			console.Word("unhealthy"), console.Word("3 of 3 regions"), console.Word("31s ago"), console.Word("99.98 %"), console.Text("ada"),
		}},
	}
	for _, width := range []int{40, 60, 80, 200} {
		c, out, errs := on("")
		c.OutTTY, c.Width = true, width
		if err := c.Print(console.Answer{Parts: []console.Part{wide}}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := console.Width(strings.TrimRight(line, "\n")); n > width {
				t.Errorf("at %d a line has %d characters: %s", width, n, line)
			}
		}
		if shown := strings.Contains(out.String(), "OWNER"); shown == strings.Contains(errs.String(), "OWNER") {
			t.Errorf("at %d: the table is\n%sthe notes are %s", width, out, errs)
		}
	}
	c, out, _ := on("")
	if err := c.Print(
		console.Answer{Parts: []console.Part{wide}},
	); err != nil || strings.Count(out.String(), "\t") != 6 ||
		!strings.Contains(out.String(), "of its parts") {
		t.Errorf("a pipe gets %q (%v)", out, err)
	}
}
