// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/vigil-monitor/vigil/internal/console"
)

func (a *app) mcpCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "mcp", Short: "Serve the tools for assistants on standard input and output",
		Long: "Serve the tools for assistants (Model Context Protocol) on standard input and output, for programs that start\n" +
			"a server instead of connecting to one. Each message goes to /mcp of the server, with the key of the context:\n" +
			"the scopes of the key decide which tools there are. A program that can use HTTP needs no bridge.",
		Example: "  vigil mcp --context prod",
		Args:    cobra.NoArgs,
	}
	run := a.does(func(ctx context.Context, s *session, _ []string) error {
		b := &bridge{session: s, lines: bufio.NewWriter(s.Out)}
		return b.run(ctx, cmd.InOrStdin())
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !cmd.Flag("timeout").Changed {
			a.flags.timeout = testTimeout // a tool may test a check
		}
		return run(cmd, args)
	}
	return cmd
}

// bridge passes messages between a program that started this one and a server.
type bridge struct {
	*session

	mu      sync.Mutex
	lines   *bufio.Writer // guarded by mu
	version string        // guarded by mu: of the protocol, as the server answered initialize
}

// Bounds of a bridge.
const (
	maxMessage  = 4 << 20 // bytes
	maxInFlight = 16      // messages whose answer is awaited
)

// message is what the bridge needs to know of a message.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
		Meta struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
}

// run passes messages, one a line, until the input ends.
func (b *bridge) run(ctx context.Context, in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 0, 64<<10), maxMessage)
	places := make(chan struct{}, maxInFlight)
	var pending sync.WaitGroup
	for lines.Scan() {
		line := bytes.Clone(bytes.TrimSpace(lines.Bytes()))
		if len(line) == 0 {
			continue
		}
		places <- struct{}{}
		pending.Go(func() {
			defer func() { <-places }()
			b.pass(ctx, line)
		})
	}
	pending.Wait()
	if err := lines.Err(); err != nil {
		return console.Errorf(console.Failed, "a message cannot be read: %w", err)
	}
	return nil
}

// The codes of errors of JSON-RPC.
const (
	parseError  = -32700
	serverError = -32000
)

// pass sends a message to the server and its answer back. What goes wrong is an answer too.
func (b *bridge) pass(ctx context.Context, line []byte) {
	var m message
	if err := json.Unmarshal(line, &m); err != nil && !json.Valid(line) {
		b.answerError(json.RawMessage("null"), parseError, "The message is not JSON.")
		return
	}
	response, err := b.post(ctx, line, m)
	text, err := b.body(response, err)
	if err != nil {
		if len(m.ID) > 0 {
			b.answerError(m.ID, serverError, err.Error())
		} else {
			b.Warn("%s", err)
		}
		return
	}
	if text = bytes.TrimSpace(text); len(text) == 0 {
		return // of a notification
	}
	if m.Method == "initialize" {
		var answer struct {
			Result struct {
				Version string `json:"protocolVersion"`
			} `json:"result"`
		}
		if json.Unmarshal(text, &answer) == nil {
			b.mu.Lock()
			b.version = answer.Result.Version
			b.mu.Unlock()
		}
	}
	b.write(text)
}

// post sends a message with the headers that repeat what it says.
func (b *bridge) post(ctx context.Context, line []byte, m message) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(b.to.URL, "/")+"/mcp", bytes.NewReader(line))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	version := m.Params.Meta.Version
	if version != "" {
		request.Header.Set("Mcp-Method", m.Method)
		if name := m.Params.Name + m.Params.URI; name != "" {
			request.Header.Set("Mcp-Name", name)
		}
	} else {
		b.mu.Lock()
		version = b.version
		b.mu.Unlock()
	}
	if version != "" {
		request.Header.Set("Mcp-Protocol-Version", version)
	}
	return b.api.Client.Do(request)
}

func (b *bridge) answerError(id json.RawMessage, code int, text string) {
	answer, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": text},
	})
	if err == nil {
		b.write(answer)
	}
}

// write prints an answer as one line.
func (b *bridge) write(text []byte) {
	var line bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		b.Warn("%s sends no answer of MCP", b.to.URL)
		return
	}
	line.WriteByte('\n')
	b.mu.Lock()
	defer b.mu.Unlock()
	_, _ = b.lines.Write(line.Bytes())
	_ = b.lines.Flush() // the program that started this one may be gone
}
