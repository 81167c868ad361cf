// SPDX-License-Identifier: Apache-2.0

package notify_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/notify"
)

// vectorTime is the time of the vectors in docs/webhooks.md.
const vectorTime = 1_800_000_000

// vector is a message in docs/webhooks.md, and whether it is signed with the secret.
type vector struct {
	What, Secret, ID, Timestamp, Signature, Body string
	Valid                                        bool
}

// webhooksDocument returns the vectors of docs/webhooks.md, and its blocks of code by language.
func webhooksDocument(t *testing.T) ([]vector, map[string]string) {
	t.Helper()
	document, err := os.ReadFile("../../docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := make(map[string]string)
	for _, match := range regexp.MustCompile("(?s)\n```([a-z]+)\n(.*?)\n```\n").FindAllStringSubmatch(string(document), -1) {
		blocks[match[1]] = match[2] + "\n"
	}
	var vectors []vector
	if err := json.Unmarshal([]byte(blocks["json"]), &vectors); err != nil || len(vectors) < 10 {
		t.Fatalf("%d vectors (%v)", len(vectors), err)
	}
	return vectors, blocks
}

// TestWebhookVectors holds the vectors of docs/webhooks.md to the library of Standard Webhooks, and
// what a channel signs to the vectors.
func TestWebhookVectors(t *testing.T) {
	t.Parallel()
	vectors, _ := webhooksDocument(t)
	for _, v := range vectors {
		at, err := strconv.ParseInt(v.Timestamp, 10, 64)
		fresh := err == nil && max(at-vectorTime, vectorTime-at) <= 300
		verifier, err := standardwebhooks.NewWebhookRaw([]byte(v.Secret))
		if strings.HasPrefix(v.Secret, "whsec_") {
			verifier, err = standardwebhooks.NewWebhook(v.Secret)
		}
		if err != nil {
			t.Fatal(err)
		}
		header := http.Header{}
		for name, value := range map[string]string{"webhook-id": v.ID, "webhook-timestamp": v.Timestamp, "webhook-signature": v.Signature} {
			header.Set(name, value)
		}
		err = verifier.VerifyIgnoringTimestamp([]byte(v.Body), header)
		if accepted := err == nil && fresh; accepted != v.Valid {
			t.Errorf("%s: accepted %v (%v)", v.What, accepted, err)
		}
		if !v.Valid {
			continue
		}
		r := receive(t, nil)
		m := message()
		m.Event, m.Envelope = uuid.MustParse(v.ID), []byte(v.Body)
		clocked := registry(notify.WithClock(func() time.Time { return time.Unix(at, 0) }))
		parse(t, clocked, vigil.ChannelWebhook, map[string]any{"url": r.url, "secret": v.Secret}).Send(t.Context(), m)
		if got := r.only(t).header.Get("Webhook-Signature"); !slices.Contains(strings.Fields(v.Signature), got) {
			t.Errorf("%s: a channel signs %s", v.What, got)
		}
	}
}

// harness calls the function verify of a language with groups of five arguments, the body in
// base64, and prints a line of true or false for each group.
type harness struct {
	language, program, file string
	arguments               []string // before the file
	before, after           string   // the code of the document
}

func harnesses() []harness {
	now := strconv.Itoa(vectorTime)
	return []harness{
		{language: "go", program: "go", file: "main.go", arguments: []string{"run"}, after: `
func main() {
	for a := os.Args[1:]; len(a) > 0; a = a[5:] {
		body, _ := base64.StdEncoding.DecodeString(a[4])
		fmt.Println(verify(a[0], a[1], a[2], a[3], body, ` + now + `))
	}
}
`},
		{language: "js", program: "node", file: "main.js", after: `
for (let a = process.argv.slice(2); a.length > 0; a = a.slice(5))
  console.log(verify(a[0], a[1], a[2], a[3], Buffer.from(a[4], "base64"), ` + now + `));
`},
		{language: "python", program: "python3", file: "main.py", after: `
import sys
a = sys.argv[1:]
for i in range(0, len(a), 5):
    print(str(verify(a[i], a[i + 1], a[i + 2], a[i + 3], base64.b64decode(a[i + 4]), ` + now + `)).lower())
`},
		{language: "ruby", program: "ruby", file: "main.rb", after: `
ARGV.each_slice(5) { |a| puts verify(a[0], a[1], a[2], a[3], Base64.decode64(a[4]), ` + now + `) }
`},
		{language: "java", program: "java", file: "Main.java", before: `
public class Main {
  public static void main(String[] a) throws Exception {
    for (int i = 0; i < a.length; i += 5) {
      System.out.println(Webhook.verify(a[i], a[i + 1], a[i + 2], a[i + 3], java.util.Base64.getDecoder().decode(a[i + 4]), ` + now + `L));
    }
  }
}
`},
		{language: "php", program: "php", file: "main.php", after: `
foreach (array_chunk(array_slice($argv, 1), 5) as $a)
    echo verify($a[0], $a[1], $a[2], $a[3], base64_decode($a[4]), ` + now + `) ? "true" : "false", "\n";
`},
	}
}

// source puts the document's code and the harness into one file: the imports of Java come first, and
// those of Go are completed.
func (h harness) source(code string) string {
	switch h.language {
	case "go":
		code = strings.Replace(code, "import (\n", "import (\n\t\"fmt\"\n\t\"os\"\n", 1)
	case "java": // the first class of the file has the method main
		imports, class, _ := strings.Cut(code, "\nclass ")
		return imports + h.before + "\nclass " + class
	}
	return code + h.after
}

// TestWebhookSnippets runs the functions of docs/webhooks.md against its vectors, those of the
// languages that this machine has.
func TestWebhookSnippets(t *testing.T) {
	t.Parallel()
	vectors, blocks := webhooksDocument(t)
	var arguments, want []string
	for _, v := range vectors {
		arguments = append(arguments, v.Secret, v.ID, v.Timestamp, v.Signature, base64.StdEncoding.EncodeToString([]byte(v.Body)))
		want = append(want, fmt.Sprintf("%v %s", v.Valid, v.What))
	}
	for _, h := range harnesses() {
		t.Run(h.language, func(t *testing.T) {
			t.Parallel()
			if blocks[h.language] == "" {
				t.Fatalf("docs/webhooks.md has no function in %s", h.language)
			}
			program, err := exec.LookPath(h.program)
			if err != nil {
				t.Skipf("not run: %s is not on this machine", h.program)
			}
			if err := exec.CommandContext(t.Context(), program, versionFlag(h.language)).Run(); err != nil {
				t.Skipf("not run: %s does not work on this machine: %v", h.program, err)
			}
			file := filepath.Join(t.TempDir(), h.file)
			if err := os.WriteFile(file, []byte(h.source(blocks[h.language])), 0o600); err != nil {
				t.Fatal(err)
			}
			run := exec.CommandContext(t.Context(), program, slices.Concat(h.arguments, []string{file}, arguments)...)
			run.Env = append(os.Environ(), "CGO_ENABLED=0")
			output, err := run.CombinedOutput()
			lines := strings.Split(strings.TrimSpace(string(output)), "\n")
			if err != nil || len(lines) != len(vectors) {
				t.Fatalf("%v: %s", err, output)
			}
			for i, line := range lines {
				if got := line + " " + vectors[i].What; got != want[i] {
					t.Errorf("got %s, want %s", got, want[i])
				}
			}
		})
	}
}

// versionFlag makes the program of a language print its version.
func versionFlag(language string) string {
	switch language {
	case "go":
		return "version"
	case "java":
		return "-version"
	}
	return "--version"
}
