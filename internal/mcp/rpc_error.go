// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/vigil-monitor/vigil"
)

// rpcError is the error of an answer of JSON-RPC 2.0 (section 5.1).
type rpcError struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// nameOf is the name of a code, in data.code of an error: that of the API where it has one.
func nameOf(code int64) vigil.Code {
	switch code {
	case jsonrpc.CodeParseError, jsonrpc.CodeInvalidRequest, jsonrpc.CodeInvalidParams:
		return vigil.CodeInvalid
	case jsonrpc.CodeMethodNotFound:
		return vigil.CodeNotFound
	}
	return vigil.CodeInternal
}

// withCodes gives each error of the protocol a code, as JSON-RPC asks for, and a text without
// words of the program's language. The answers of the SDK are whole and small.
func withCodes(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kept := &keptAnswer{header: w.Header(), status: http.StatusOK}
		asked, _ := io.ReadAll(r.Body) // it is read and bounded already
		r.Body = io.NopCloser(bytes.NewReader(asked))
		next.ServeHTTP(kept, r)
		body := kept.body.Bytes()
		kind, _, _ := mime.ParseMediaType(kept.header.Get("Content-Type"))
		switch {
		case kept.status >= http.StatusBadRequest && kind == "text/plain":
			body = refusalOf(asked, string(body))
			kept.header.Set("Content-Type", jsonType)
		case kind == jsonType:
			body = coded(body)
		}
		kept.header.Del("Content-Length")
		w.WriteHeader(kept.status)
		_, _ = w.Write(body)
	})
}

// keptAnswer keeps an answer until it is complete.
type keptAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (k *keptAnswer) Header() http.Header                  { return k.header }
func (k *keptAnswer) WriteHeader(status int)               { k.status = status }
func (k *keptAnswer) Write(text []byte) (n int, err error) { return k.body.Write(text) }

// Flush does nothing: the answer is sent when it is complete.
func (k *keptAnswer) Flush() {}

// refusalOf is the answer to a request that the transport of the SDK refused with a line of
// text: with the id of the request where that can be read.
func refusalOf(asked []byte, text string) []byte {
	var request struct {
		ID json.RawMessage `json:"id"`
	}
	_ = json.Unmarshal(asked, &request) // without an id it is null
	text = strings.TrimSpace(text)
	failure := rpcError{Code: jsonrpc.CodeInvalidRequest, Message: plain(text)}
	switch {
	case !json.Valid(asked):
		failure = rpcError{Code: jsonrpc.CodeParseError, Message: "The body is not JSON."}
	case strings.HasPrefix(text, "malformed payload"):
		failure.Message = `The body is no request of JSON-RPC 2.0: it needs "jsonrpc": "2.0" and "method".`
	case strings.HasPrefix(text, notHandled):
		failure = rpcError{Code: jsonrpc.CodeMethodNotFound, Message: "The method " + strings.TrimPrefix(text, notHandled)}
	}
	return encoded(object{"jsonrpc": "2.0", "id": request.ID, "error": withData(failure)})
}

// notHandled begins the text of the SDK about a method that it does not have.
const notHandled = "JSON RPC not handled: "

// coded returns an answer, or a batch of them, whose errors have codes.
func coded(body []byte) []byte {
	if !bytes.Contains(body, []byte(`"error":{`)) {
		return body
	}
	if bytes.HasPrefix(body, []byte("[")) {
		var all []json.RawMessage
		if json.Unmarshal(body, &all) != nil {
			return body
		}
		for i := range all {
			all[i] = coded(all[i])
		}
		return encoded(all)
	}
	var answer struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *rpcError       `json:"error"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Error == nil {
		return body
	}
	failure := *answer.Error
	if failure.Code == 0 { // the SDK could not read the parameters
		failure.Code = jsonrpc.CodeInvalidParams
	}
	failure.Message = plain(failure.Message)
	return encoded(object{"jsonrpc": "2.0", "id": answer.ID, "error": withData(failure)})
}

// withData names the code of an error in its data, beside what the data have.
func withData(failure rpcError) rpcError {
	data := make(object)
	if len(failure.Data) > 0 && json.Unmarshal(failure.Data, &data) != nil {
		return failure // data that are no object stay as they are
	}
	if _, named := data["code"]; named {
		return failure
	}
	data["code"] = nameOf(failure.Code)
	failure.Data = encoded(data)
	return failure
}

// timeForm is how a time is written.
const timeForm = "is no time: write one with a zone, such as 2026-05-01T12:00:00Z (RFC 3339)"

var (
	goTime   = regexp.MustCompile(`(?:[Tt]ime\.Time[^:]*: )?parsing time (".*?") as ".*?": .*$`)
	goField  = regexp.MustCompile(`json: cannot unmarshal .* into Go (?:struct field (?:\S*?[A-Z]\w*\.)?(\S+)|value) of type \S+`)
	goParams = regexp.MustCompile(`unmarshaling .* into a \S+: `)
	goPrefix = regexp.MustCompile(`^(?:handling '[^']*': |validating "arguments": |validating root: |calling "[^"]*": )+`)
	goPath   = regexp.MustCompile(`validating /properties/([^/: ]+)`)
)

// plain returns a text of the SDK or of the decoder without words of the program's language.
func plain(text string) string {
	text = goPrefix.ReplaceAllString(text, "")
	text = goParams.ReplaceAllString(text, "")
	text = goTime.ReplaceAllString(text, "$1 "+timeForm)
	text = goPath.ReplaceAllString(text, "$1")
	return goField.ReplaceAllStringFunc(text, func(found string) string {
		if member := goField.FindStringSubmatch(found)[1]; member != "" {
			return member + " has a value of another JSON type than it may have"
		}
		return "the value has another JSON type than it may have"
	})
}

// unfit is the error of arguments that do not fit the input of a tool.
func unfit(err error) error {
	if wrong, ok := errors.AsType[*time.ParseError](err); ok {
		return vigil.Errorf(vigil.CodeInvalid, "The arguments do not fit the input of the tool: %q %s.",
			cutText(strings.Trim(wrong.Value, `"`), maxText), timeForm)
	}
	return vigil.Errorf(vigil.CodeInvalid, "The arguments do not fit the input of the tool: %s.", cutText(plain(err.Error()), maxText))
}
