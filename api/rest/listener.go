// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"strings"

	"github.com/vigil-monitor/vigil"
)

// JSONErrors returns a listener whose connections answer in JSON what net/http answers
// by itself, before any handler runs: requests that it cannot parse, too large headers,
// and transfer encodings other than chunked, which become a 400.
func JSONErrors(listener net.Listener) net.Listener { return jsonListener{listener} }

type jsonListener struct{ net.Listener }

// Accept waits for the next connection.
func (l jsonListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &jsonConn{Conn: conn}, nil
}

// jsonConn replaces the plain errors of net/http. Each is one write that begins with the
// same headers, which no other answer of the API has.
type jsonConn struct{ net.Conn }

// plainHead stands between the status line and the text of such an error.
const plainHead = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// Write sends bytes, or the error in JSON instead of them.
func (c *jsonConn) Write(p []byte) (int, error) {
	if !bytes.HasPrefix(p, []byte("HTTP/1.1 4")) && !bytes.HasPrefix(p, []byte("HTTP/1.1 501 ")) {
		return c.Conn.Write(p)
	}
	status, text, found := bytes.Cut(p, []byte(plainHead))
	if !found || bytes.ContainsRune(status, '\r') {
		return c.Conn.Write(p)
	}
	answer, err := jsonError(string(status), string(text))
	if err != nil {
		return c.Conn.Write(p)
	}
	if _, err := c.Conn.Write(answer); err != nil {
		return 0, err
	}
	return len(p), nil
}

// jsonError is the answer in JSON.
func jsonError(status, text string) ([]byte, error) {
	body := ErrorView{Message: "The request is not valid HTTP.", Code: vigil.CodeInvalid, RequestID: requestID("")}
	switch {
	case text == "Unsupported transfer encoding":
		status = "HTTP/1.1 400 Bad Request"
		body.Message = "The Transfer-Encoding is not supported; send the body with a Content-Length, or chunked."
		body.Details = map[string]any{"member": "Transfer-Encoding"}
	case strings.Contains(status, " 431 "):
		body.Message, body.Code = "The headers of the request are too large.", vigil.CodeTooLarge
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "%s\r\nContent-Type: application/json\r\nX-Request-Id: %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n",
		status, body.RequestID, len(encoded)+1, encoded), nil
}
