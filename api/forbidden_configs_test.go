// SPDX-License-Identifier: Apache-2.0

package api_test

// checkConfigs has a config of each check type, with the objects that it may have within.
func checkConfigs() map[string]string {
	return map[string]string{
		"dns":       `{"host":"example.com","record_type":"A","resolvers":["1.1.1.1"],"expected_values":["192.0.2.1"]}`,
		"domain":    `{"domain":"example.com"}`,
		"grpc":      `{"host":"example.com","port":443,"headers":{"X-A":"b"}}`,
		"heartbeat": `{"schedule":{"every_seconds":300}}`,
		"http":      `{"url":"http://example.com/"}`,
		"http3":     `{"url":"https://example.com/"}`,
		"https": `{"url":"https://example.com/","headers":{"X-A":"b"},"basic_auth":{"username":"a","password":"b"},
			"assertions":[{"source":"status","operator":"eq","target":200}],"expected_status_codes":["2xx",404]}`,
		"multistep": `{"steps":[{"name":"one","type":"http","config":{"url":"https://example.com/"},
			"extract":[{"name":"token","source":"json","property":"token"}]}]}`,
		"ping":       `{"host":"example.com"}`,
		"smtp-imap":  `{"smtp":{"host":"example.com"},"imap":{"host":"example.com"},"round_trip":false}`,
		"ssl":        `{"host":"example.com"}`,
		"tcp":        `{"host":"example.com","port":443}`,
		"throughput": `{"url":"https://example.com/"}`,
		"websocket":  `{"url":"wss://example.com/","subprotocols":["a"],"headers":{"X-A":"b"}}`,
	}
}
