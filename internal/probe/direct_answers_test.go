// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
)

// oddAnswers are answers at the edges of RFC 9112, and of what net/http makes of them. "|" is where the server
// waits a moment, "!" is where it does not close the connection but waits for the client.
func oddAnswers() map[string]string {
	const ok = "HTTP/1.1 200 OK\r\n"
	const chunked = ok + "Transfer-Encoding: chunked\r\n\r\n"
	long := strings.Repeat("y", 1000)
	return map[string]string{
		"until the end":              ok + "\r\nfine",
		"HTTP/1.0":                   "HTTP/1.0 200 OK\r\n\r\nfine",
		"HTTP/1.0 with a length":     "HTTP/1.0 200 OK\r\nContent-Length: 4\r\nConnection: keep-alive\r\n\r\nfine!",
		"HTTP/1.0 with chunks":       "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n0\r\n\r\n",
		"HTTP/1.2":                   "HTTP/1.2 200 OK\r\nContent-Length: 4\r\n\r\nfine",
		"HTTP/2.0 in words":          "HTTP/2.0 200 OK\r\nContent-Length: 4\r\n\r\nfine",
		"HTTP/11":                    "HTTP/11 200 OK\r\n\r\nfine",
		"small letters":              "http/1.1 200 ok\r\ncontent-length: 4\r\nx: y\r\n\r\nfine",
		"keep-alive":                 ok + "Connection: keep-alive\r\nKeep-Alive: timeout=5\r\nContent-Length: 4\r\n\r\nfine!",
		"close":                      ok + "Connection: close\r\nContent-Length: 4\r\n\r\nfine!",
		"more than its length":       ok + "Content-Length: 4\r\n\r\nfine and more",
		"a second answer":            ok + "Content-Length: 4\r\n\r\nfine" + ok + "Content-Length: 0\r\n\r\n!",
		"less than its length":       ok + "Content-Length: 40\r\n\r\nfine",
		"nothing of its length":      ok + "Content-Length: 40\r\n\r\n",
		"half a status line":         "HTTP/1.",
		"half a header":              ok + "Content-Le",
		"no empty line":              ok + "Content-Length: 4\r\n",
		"bare newlines":              "HTTP/1.1 200 OK\nContent-Length: 4\nX: y\n\nfine",
		"bare returns":               "HTTP/1.1 200 OK\rContent-Length: 4\r\rfine",
		"an empty line first":        "\r\n" + ok + "Content-Length: 4\r\n\r\nfine",
		"spaces first":               "  " + ok + "Content-Length: 4\r\n\r\nfine",
		"no reason":                  "HTTP/1.1 200\r\nContent-Length: 4\r\n\r\nfine",
		"two spaces":                 "HTTP/1.1  200  OK\r\nContent-Length: 4\r\n\r\nfine",
		"a reason of bytes":          "HTTP/1.1 200 \xff\x01\r\nContent-Length: 4\r\n\r\nfine",
		"status 000":                 "HTTP/1.1 000 No\r\nContent-Length: 0\r\n\r\n",
		"status -12":                 "HTTP/1.1 -12 No\r\nContent-Length: 0\r\n\r\n",
		"status 0x1":                 "HTTP/1.1 0x1 No\r\nContent-Length: 0\r\n\r\n",
		"status 099":                 "HTTP/1.1 099 No\r\nContent-Length: 0\r\n\r\n",
		"status 999":                 "HTTP/1.1 999 No\r\nContent-Length: 4\r\n\r\nfine",
		"folded":                     ok + "X: y\r\n z\r\nContent-Length: 4\r\n\r\nfine",
		"folded at once":             ok + " X: y\r\nContent-Length: 4\r\n\r\nfine",
		"a space before the colon":   ok + "X : y\r\nContent-Length: 4\r\n\r\nfine",
		"an empty name":              ok + ": y\r\nContent-Length: 4\r\n\r\nfine",
		"a name of bytes":            ok + "\xff: y\r\nContent-Length: 4\r\n\r\nfine",
		"a value of bytes":           ok + "X: \xff\x80\r\nContent-Length: 4\r\n\r\nfine",
		"an empty value":             ok + "X:\r\nContent-Length: 4\r\n\r\nfine",
		"same header twice":          ok + "X: y\r\nX: z\r\nContent-Length: 4\r\n\r\nfine",
		"same length twice":          ok + "Content-Length: 4\r\nContent-Length: 4\r\n\r\nfine",
		"lengths in a list":          ok + "Content-Length: 4, 4\r\n\r\nfine",
		"length +4":                  ok + "Content-Length: +4\r\n\r\nfine",
		"length 4 4":                 ok + "Content-Length: 4 4\r\n\r\nfine",
		"length of letters":          ok + "Content-Length: four\r\n\r\nfine",
		"empty length":               ok + "Content-Length:\r\n\r\nfine",
		"length too large":           ok + "Content-Length: 99999999999999999999\r\n\r\nfine",
		"length and chunks":          ok + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n0\r\n\r\n",
		"chunks":                     chunked + "2\r\nfi\r\n2\r\nne\r\n0\r\n\r\n",
		"chunks and no end":          chunked + "4\r\nfine\r\n",
		"half a chunk":               chunked + "8\r\nfine",
		"chunks with extensions":     chunked + "4;a=b\r\nfine\r\n0;c\r\n\r\n",
		"chunks with a trailer":      chunked + "4\r\nfine\r\n0\r\nX: y\r\n\r\n",
		"a chunk without its end":    chunked + "4\r\nfine0\r\n\r\n",
		"chunks with bare newlines":  chunked + "4\nfine\n0\n\n",
		"an empty chunk size":        chunked + "\r\nfine\r\n0\r\n\r\n",
		"a negative chunk":           chunked + "-4\r\nfine\r\n0\r\n\r\n",
		"chunks twice":               ok + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n0\r\n\r\n",
		"chunks and gzip":            ok + "Transfer-Encoding: gzip, chunked\r\n\r\n4\r\nfine\r\n0\r\n\r\n",
		"identity":                   ok + "Transfer-Encoding: identity\r\n\r\nfine",
		"gzip that is none":          ok + "Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nfine",
		"gzip that is empty":         ok + "Content-Encoding: gzip\r\nContent-Length: 0\r\n\r\n",
		"204 with a body":            "HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nfine",
		"204 with chunks":            "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfine\r\n0\r\n\r\n",
		"304 with a length":          "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n!",
		"205 with a body":            "HTTP/1.1 205 Reset Content\r\nContent-Length: 4\r\n\r\nfine",
		"206":                        "HTTP/1.1 206 Part\r\nContent-Encoding: gzip\r\nContent-Range: bytes 0-3/9\r\nContent-Length:4\r\n\r\nfine",
		"408 at once":                "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		"100 first":                  "HTTP/1.1 100 Continue\r\n\r\n" + ok + "Content-Length: 4\r\n\r\nfine",
		"100 and nothing":            "HTTP/1.1 100 Continue\r\n\r\n",
		"102 and a wait":             "HTTP/1.1 102 Processing\r\n\r\n|" + ok + "Content-Length: 4\r\n\r\nfine",
		"six hints":                  strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 6) + ok + "Content-Length: 4\r\n\r\nfine",
		"a hint with a length":       "HTTP/1.1 103 Early Hints\r\nContent-Length: 4\r\n\r\nfine" + ok + "Content-Length: 4\r\n\r\nfine",
		"a broken hint":              "HTTP/1.1 103 Early Hints\r\nnonsense\r\n\r\n" + ok + "Content-Length: 4\r\n\r\nfine",
		"hints that fill the limit":  strings.Repeat("HTTP/1.1 103 Hint\r\nX: "+long+"\r\n\r\n", 70) + ok + "Content-Length: 4\r\n\r\nfine",
		"199":                        "HTTP/1.1 199 No\r\n\r\n" + ok + "Content-Length: 4\r\n\r\nfine",
		"101 that was not asked for": "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nfine",
		"101 that goes on":           "HTTP/1.1 101 Switching Protocols\r\nConnection: keep-alive, upgrade\r\nUpgrade: x\r\n\r\nfine|fine|fine!",
		"101 without Upgrade":        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\r\nfine",
		"101 without Connection":     "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nfine",
		"101 with a length":          "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\nContent-Length: 4\r\n\r\nfine",
		"headers below the limit":    ok + strings.Repeat("X: "+long+"\r\n", 60) + "Content-Length: 4\r\n\r\nfine",
		"headers above the limit":    ok + strings.Repeat("X: "+long+"\r\n", 70) + "Content-Length: 4\r\n\r\nfine",
		"a long header":              ok + "X: " + strings.Repeat(long, 60) + "\r\nContent-Length: 4\r\n\r\nfine",
		"a long status line":         "HTTP/1.1 200 " + strings.Repeat(long, 60) + "\r\nContent-Length: 4\r\n\r\nfine",
		"many headers":               ok + strings.Repeat("X: y\r\n", 9000) + "Content-Length: 4\r\n\r\nfine",
		"a body above the limit":     ok + "Content-Length: 80000\r\n\r\n" + strings.Repeat(long, 80),
		"a long body, no length":     ok + "\r\n" + strings.Repeat(long, 80),
		"slow headers":               "HTTP/1.1|" + " 200 OK|\r\nX: |y\r\nContent-Length: 4\r\n|\r\nfine",
		"a slow body":                ok + "Content-Length: 4\r\n\r\nfi|ne",
		"slow chunks":                chunked + "4\r|\nfi|ne\r\n0|\r\n\r\n",
		"a slow redirect":            "HTTP/1.1 302 Found\r\n|Location: http://127.0.0.1:1/\r\n\r\nmoved|",
		"redirect with a long body":  "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n" + strings.Repeat(long, 80),
		"redirect without an end":    "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 100\r\n\r\nmoved",
		"redirect, broken chunks":    "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"redirect without a place":   "HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n",
		"redirect to itself, slow":   "HTTP/1.1 302 Found\r\nLocation: /\r\n|\r\n",
		"events":                     ok + "Content-Type: text/event-stream\r\n\r\ndata: fine\n\n|data: fine\n\n|!",
		"sound":                      ok + "Content-Type: audio/mpeg\r\n\r\nfine|fine|fine|fine!",
		"Pragma":                     ok + "Pragma: no-cache\r\nContent-Length: 4\r\n\r\nfine",
		"cookies":                    ok + "Set-Cookie: a=hunter2; Path=/\r\nSet-Cookie: =\r\nContent-Length: 4\r\n\r\nfine",
		"Alt-Svc":                    ok + "Alt-Svc: h3=\":443\"\r\nContent-Length: 4\r\n\r\nfine",
		"zero bytes":                 "\x00\x00\x00\x00",
		"one letter":                 "H",
		"nothing":                    "",
	}
}

// answering reads the request and sends an answer of oddAnswers.
func answering(text string) func(net.Conn) {
	return func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 4096))
		said, stays := strings.CutSuffix(text, "!")
		for i, part := range strings.Split(said, "|") {
			if i > 0 {
				pause(20 * time.Millisecond)
			}
			_, _ = io.WriteString(conn, part)
		}
		if stays {
			drain(conn)
		}
	}
}

func TestDirectOddAnswers(t *testing.T) {
	t.Parallel()
	p := newPaths(t)
	var all []comparison
	for name, text := range oddAnswers() {
		all = append(all, p.comparisons(t, name, answering(text), 400*time.Millisecond)...)
	}
	p.compare(t, all)
}

// TestDirectChangedAnswers changes answers by chance.
func TestDirectChangedAnswers(t *testing.T) {
	t.Parallel()
	p := newPaths(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	chance := rand.New(rand.NewPCG(seed, 0))
	texts := oddAnswers()
	names := slices.Sorted(maps.Keys(texts))
	number := 3000
	if testing.Short() {
		number = 300
	}
	var changes []string
	url := "http://" + tcp(t, func(conn net.Conn) { // the path says which answer
		request := make([]byte, 4096)
		n, _ := conn.Read(request)
		var which int
		if _, err := fmt.Sscanf(string(request[:n]), "%s /%d", new(string), &which); err == nil && which < len(changes) {
			_, _ = io.WriteString(conn, changes[which])
		}
	})
	var all []comparison
	for i := range number {
		name := names[chance.IntN(len(names))]
		text := strings.NewReplacer("|", "", "!", "").Replace(texts[name])
		if len(text) > 5000 || text == "" {
			continue
		}
		text = changed(chance, text)
		changes = append(changes, text)
		askers := asking(fmt.Sprintf("%s/%d", url, len(changes)-1))
		asker := slices.Sorted(maps.Keys(askers))[chance.IntN(len(askers))]
		all = append(all, comparison{
			name: fmt.Sprintf("%d %s/%s %q", i, name, asker, text), kind: vigil.TypeHTTP, config: askers[asker], limit: 2 * time.Second,
		})
	}
	p.compare(t, all)
}

// changed makes a few changes to an answer.
func changed(chance *rand.Rand, text string) string {
	for range 1 + chance.IntN(3) {
		if text == "" {
			return text
		}
		at := chance.IntN(len(text))
		switch chance.IntN(5) {
		case 0: // a byte less
			text = text[:at] + text[at+1:]
		case 1: // another byte
			text = text[:at] + string(rune(chance.IntN(256))) + text[at+1:]
		case 2: // a word more
			words := []string{
				"\r\n",
				"\n",
				" ",
				"0",
				"9",
				":",
				",",
				"chunked",
				"HTTP/1.1 ",
				"Content-Length: 1\r\n",
				"Connection: close\r\n",
				"\x00",
			}
			text = text[:at] + words[chance.IntN(len(words))] + text[at:]
		case 3: // a part again
			end := min(len(text), at+1+chance.IntN(20))
			text = text[:end] + text[at:end] + text[end:]
		case 4: // no end
			text = text[:at]
		}
	}
	return text
}
