// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/client"
	"github.com/vigil-monitor/vigil/internal/console"
)

func (a *app) requestCommand() *cobra.Command {
	var data string
	var paginate bool
	cmd := &cobra.Command{
		Use:   "request <method> <path>",
		Short: "Send a request to the API with the key of the context",
		Long: "Send a request to the API with the key of the context and print the answer. An answer that is an error is\n" +
			"printed as well, and the exit code says which kind it is.",
		Example: "  vigil request GET /v1/checks --paginate --jq '.data[].name'\n" +
			"  vigil request POST /v1/checks -d @check.json\n" +
			"  vigil request PUT /v1/checks/6f1c2d0a-0000-4000-8000-000000000000 -d '{\"enabled\": false}'",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 || !strings.HasPrefix(args[1], "/") {
				return console.Errorf(console.Usage, "request needs a method and a path, such as: vigil request GET /v1/checks")
			}
			return nil
		},
		RunE: a.does(func(ctx context.Context, s *session, args []string) error {
			method, path := strings.ToUpper(args[0]), args[1]
			if paginate {
				return s.paginate(ctx, method, path)
			}
			body, err := s.data(data)
			if err != nil {
				return err
			}
			response, err := s.send(ctx, method, path, body)
			text, err := s.body(response, err)
			if len(text) == 0 {
				return err
			}
			printErr := s.printRaw(text, err != nil)
			if err != nil {
				return err
			}
			return printErr
		}),
	}
	cmd.Flags().StringVarP(&data, "data", "d", "", "`body`: JSON, @file, or @- for standard input")
	cmd.Flags().BoolVar(&paginate, "paginate", false, "read every page of a list and print them as one")
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete}, cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return cmd
}

// data reads the body of a request.
func (s *session) data(text string) ([]byte, error) {
	if path, isFile := strings.CutPrefix(text, "@"); isFile {
		return input(s.Console, path)
	}
	return []byte(text), nil
}

// send sends a request of the user.
func (s *session) send(ctx context.Context, method, path string, body []byte, editors ...client.RequestEditorFn) (*http.Response, error) {
	var reader io.Reader
	if len(body) > 0 {
		reader = bytes.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, method, s.to.URL+path, reader)
	if err != nil {
		return nil, console.Errorf(console.Usage, "%s %s is no request: %w", method, path, err)
	}
	if reader != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if method == http.MethodPost {
		editors = append(slices.Clone(editors), once())
	}
	for _, edit := range editors {
		if err := edit(ctx, request); err != nil {
			return nil, err
		}
	}
	return s.api.Client.Do(request)
}

// paginate prints every page of a list in one envelope.
func (s *session) paginate(ctx context.Context, method, path string) error {
	if method != http.MethodGet {
		return console.Errorf(console.Usage, "--paginate reads lists: the method must be GET")
	}
	all, err := list[json.RawMessage](s, maxScan, func(page client.RequestEditorFn) (*http.Response, error) {
		return s.send(ctx, method, path, nil, page)
	})
	if err != nil {
		return err
	}
	body, err := all.body()
	if err != nil {
		return err
	}
	if all.more {
		s.Warn("first %s of %s", console.Thousands(int64(len(all.data))), all.count())
	}
	return s.printRaw(body, false)
}

// printRaw prints the body of an answer: as JSON, or as it is when it is something else.
func (s *session) printRaw(body []byte, isError bool) error {
	if !json.Valid(body) || isError {
		_, err := s.Out.Write(append(bytes.TrimRight(body, "\n"), '\n'))
		return err
	}
	con := *s.Console
	if con.Format == console.Table || con.Format == console.Wide {
		con.Format = console.JSON
	}
	return con.Print(console.Answer{Body: body})
}
