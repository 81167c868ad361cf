// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/vigil-monitor/vigil"
)

// kumaWebSocket makes the handshake only, as Kuma does.
func kumaWebSocket(m kumaRow) (func(*Resource), vigil.CheckType, string) {
	text := m.line("url")
	address, err := url.Parse(text)
	if err != nil || address.Host == "" || address.User != nil || address.Scheme != "ws" && address.Scheme != "wss" || len(text) > maxAddress {
		return nil, "", fmt.Sprintf("url %q is not an address that begins with ws:// or wss://", withoutUser(text))
	}
	if _, reason := kumaHost(address.Hostname()); reason != "" {
		return nil, "", reason
	}
	return func(c *Resource) {
		config := Object{{"url", Literal(address.String())}}
		var offered []string
		for name := range strings.SplitSeq(m.line("ws_subprotocol"), ",") {
			if name = strings.TrimSpace(name); name != "" {
				offered = append(offered, Literal(name))
			}
		}
		if len(offered) > 0 {
			config.Set("subprotocols", offered)
		}
		if m.flag("ignore_tls", false) {
			config.Set("verify_tls", false)
		}
		if m.flag("ws_ignore_sec_websocket_accept_header", false) {
			c.Lose("ws_ignore_sec_websocket_accept_header", "a check always compares Sec-WebSocket-Accept")
		}
		const normal = "1000" // the close code (RFC 6455, 7.4.1) of Kuma's own default
		if codes := m.list("accepted_statuscodes_json"); len(codes) > 0 && !slices.Contains(codes, any(normal)) {
			c.Lose("accepted_statuscodes: "+m.shown("accepted_statuscodes_json"), "a check does not look at close codes")
		}
		config.Set("timeout_seconds", c.kumaTimeout(m))
		c.Set("config", config)
	}, vigil.TypeWebSocket, ""
}
