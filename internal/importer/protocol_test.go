// SPDX-License-Identifier: Apache-2.0

package importer_test

import (
	"strings"
	"testing"
)

// TestGatusProtocols holds what becomes of endpoints of gRPC and WebSocket, and of the client of a
// request.
func TestGatusProtocols(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, kind, config string }{
		"GRPC": {
			`{name: x, url: "grpc://a.example:50051", conditions: ["[CONNECTED] == true", "[BODY].status == SERVING"]}`,
			`"grpc"`, `{"host":"a.example","port":50051,"security":"none"}`,
		},
		"GRPCWithTLS": {
			`{name: x, url: "grpcs://a.example:443", client: {insecure: true, timeout: 5s}}`,
			`"grpc"`, `{"host":"a.example","port":443,"timeout_seconds":5,"verify_tls":false}`,
		},
		"WebSocket": {
			`{name: x, url: "wss://a.example/live", body: ping, conditions: ["[BODY] == pat(*pong*)"], headers: {Origin: "https://a.example"}}`,
			`"websocket"`, `{"expect":"pong","headers":{"Origin":"https://a.example"},"send":"ping","url":"wss://a.example/live"}`,
		},
		"OAuth2": {
			`{name: x, url: "https://a.example", client: {oauth2: ` +
				`{token-url: "https://id.example/t", client-id: a, client-secret: b, scopes: [c]}}}`,
			`"https"`,
			`{"expected_status_codes":["2xx","3xx","4xx","5xx"],"oauth2":{"client_id":"a","client_secret":"$CHECK_X_CLIENT_SECRET",` +
				`"scopes":["c"],"token_url":"https://id.example/t"},"url":"https://a.example"}`,
		},
		"Proxy": {
			`{name: x, url: "http://a.example", client: {proxy-url: "http://proxy.example:3128"}}`,
			`"http"`, `{"expected_status_codes":["2xx","3xx","4xx","5xx"],"proxy":"http://proxy.example:3128","url":"http://a.example"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := gatusText(t, "endpoints:\n  - "+c.text+"\n")
			mentioned(t, got)
			want(t, got, map[string]string{"checks/x/type": c.kind, "checks/x/config": c.config})
		})
	}
}

// TestKumaWebSocket holds the same for monitors that only make the handshake.
func TestKumaWebSocket(t *testing.T) {
	t.Parallel()
	got := monitor(t, map[string]any{
		"type": "websocket-upgrade", "url": "wss://w.example/ws?a=b", "ws_subprotocol": "v2, v1", "ignore_tls": 1, "timeout": 48,
		"ws_ignore_sec_websocket_accept_header": 1,
	})
	if config := at(t, got.document, "checks", "it", "config"); config !=
		`{"subprotocols":["v2","v1"],"timeout_seconds":48,"url":"wss://w.example/ws?a=b","verify_tls":false}` {
		t.Errorf("the config is %s", config)
	}
	if !strings.Contains(got.report, "always compares Sec-WebSocket-Accept") {
		t.Errorf("IMPORT.md lacks what is lost:\n%s", got.report)
	}
	if bad := monitor(t, map[string]any{"type": "websocket-upgrade", "url": "https://w.example"}); at(t, bad.document, "checks") != "null" {
		t.Error("an address of HTTP became a check of WebSocket")
	}
}
