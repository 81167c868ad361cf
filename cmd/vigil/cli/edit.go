// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

// editing is how one thing is read, changed and shown.
type editing struct {
	get   func() (*http.Response, error)
	put   func(body []byte, match client.RequestEditorFn) (*http.Response, error)
	print func(response *http.Response, err error) error
}

// readOnly are the members that the server sets.
func readOnly() []string {
	return []string{
		"id", "org_id", "check_id", "created_at", "updated_at", "revision", "health_status", "last_checked", "expires_at", "summary",
		"condition_type", "threshold", "disabled_reason", "secret_overlap_ends_at", "recipients", "url", "managed_by",
		"last_drill", "next_at", "skipped_at",
	}
}

// version is a thing as it was read.
type version struct {
	members map[string]any // what can be changed
	text    []byte         // the same as YAML
	tag     string         // its ETag
}

// edit opens a thing in the user's editor and sends the members that were changed. When
// it changed on the server meanwhile, or the server refuses the change, the editor opens
// again on a terminal; elsewhere the command fails.
func (s *session) edit(ctx context.Context, e editing) error {
	base, err := s.version(e)
	if err != nil {
		return err
	}
	text := base.text
	for {
		edited, err := s.openEditor(ctx, text)
		if err != nil {
			return err
		}
		changes, err := difference(base, edited)
		if err == nil && len(changes) == 0 {
			s.Note("Nothing was changed.")
			return nil
		}
		if err == nil {
			err = sendEdit(e, base, changes)
		}
		code := console.CodeOf(err)
		again := code == console.Conflict || code == console.Failed || code == console.Usage
		if err == nil || !again || !s.Interactive() {
			return err
		}
		s.Warn("%v", err)
		if answer, askErr := s.Ask("Edit it again? [Y/n] "); askErr != nil || strings.HasPrefix(strings.ToLower(answer), "n") {
			return err
		}
		cause := err
		if code == console.Conflict {
			if base, err = s.version(e); err != nil {
				return err
			}
		}
		text = reopened(cause, edited, base, code == console.Conflict)
	}
}

// reopened is the text for another round: what was typed, and the version of the server
// when that is new.
func reopened(cause error, edited []byte, now version, conflict bool) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "# %s\n", strings.ReplaceAll(cause.Error(), "\n", " "))
	out.Write(edited)
	if conflict {
		out.WriteString("\n# It changed meanwhile. As it is now:\n")
		for line := range strings.SplitSeq(strings.TrimRight(string(now.text), "\n"), "\n") {
			out.WriteString("#   " + line + "\n")
		}
	}
	return out.Bytes()
}

// version reads a thing.
func (s *session) version(e editing) (version, error) {
	response, err := e.get()
	tag := ""
	if response != nil {
		tag = response.Header.Get("ETag")
	}
	answer, _, err := read[struct {
		Data map[string]any `json:"data"`
	}](s, response, err)
	if err != nil {
		return version{}, err
	}
	for _, name := range readOnly() {
		delete(answer.Data, name)
	}
	body, err := json.Marshal(answer.Data)
	if err != nil {
		return version{}, err
	}
	text, err := console.ToYAML(body)
	return version{members: answer.Data, text: text, tag: tag}, err
}

// difference returns the members that an edited text has with another value.
func difference(base version, edited []byte) (map[string]any, error) {
	body, err := console.FromYAML(edited)
	if err != nil {
		return nil, console.Errorf(console.Usage, "the text is no YAML: %w", err)
	}
	var members map[string]any
	if json.Unmarshal(body, &members) != nil || members == nil {
		return nil, console.Errorf(console.Usage, "the text is no object of YAML; nothing was changed")
	}
	changes := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if before, ok := base.members[name]; !ok || !reflect.DeepEqual(before, members[name]) {
			changes[name] = members[name]
		}
	}
	for name := range base.members {
		if _, ok := members[name]; !ok {
			return nil, console.Errorf(console.Usage, "the member %s is missing; give it another value instead of removing it", name)
		}
	}
	return changes, nil
}

// sendEdit sends changed members on the condition that the thing is still the same.
func sendEdit(e editing, base version, changes map[string]any) error {
	body, err := json.Marshal(changes)
	if err != nil {
		return err
	}
	return e.print(e.put(body, func(_ context.Context, request *http.Request) error {
		request.Header.Set("If-Match", base.tag)
		return nil
	}))
}

// openEditor lets the user edit a text with VISUAL or EDITOR, else vi.
func (s *session) openEditor(ctx context.Context, text []byte) ([]byte, error) {
	editor := os.Getenv("VISUAL")
	if editor == "" {
		editor = os.Getenv("EDITOR")
	}
	if editor == "" {
		if !s.Interactive() {
			return nil, console.Errorf(console.Usage, "there is no terminal to edit on; set EDITOR to a command that changes a file")
		}
		editor = "vi"
	}
	file, err := os.CreateTemp("", "vigil-*.yaml") // 0600
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = file.Write(text)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", file.Name()) //nolint:gosec // the user's own editor
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.In, s.Err, s.Err
	if s.OutTTY {
		cmd.Stdout = s.Out
	}
	if err := cmd.Run(); err != nil {
		return nil, console.Errorf(console.Failed, "the editor %q failed, nothing was changed: %w", editor, err)
	}
	return os.ReadFile(file.Name())
}

func (a *app) checkEditCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "edit <check>", Short: "Change a check in your editor",
		Long: "Open a check as YAML in your editor (VISUAL or EDITOR), and send what you changed. A secret is shown as ***,\n" +
			"which keeps it.",
		Args: oneOf("a check"), ValidArgsFunction: a.suggest(suggestChecks),
	}
	cmd.RunE = a.does(func(ctx context.Context, s *session, args []string) error {
		found, err := s.check(ctx, args[0])
		if err != nil {
			return err
		}
		return s.edit(ctx, editing{
			get: func() (*http.Response, error) { return s.api.GetCheck(ctx, found.ID, nil) },
			put: func(body []byte, match client.RequestEditorFn) (*http.Response, error) {
				return s.api.UpdateCheckWithBody(ctx, found.ID, nil, "application/json", bytes.NewReader(body), match)
			},
			print: func(response *http.Response, err error) error {
				answer, body, err := read[client.CheckAnswer](s, response, err)
				if err != nil {
					return err
				}
				defer s.noteWarnings(answer.Data.Warnings)
				return s.Print(console.Answer{Body: body, Parts: []console.Part{
					console.List{Columns: checkColumns(), Rows: [][]console.Cell{checkRow(answer.Data)}},
				}})
			},
		})
	})
	return cmd
}
