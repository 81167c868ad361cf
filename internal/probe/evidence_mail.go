// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"crypto/tls"
	"errors"
	"net/textproto"
	"strings"

	"github.com/vigil-monitor/vigil"
)

// maxDialogLine is the longest line of a mail server that is noted, in bytes.
const maxDialogLine = 512

// dialogNotes are the lines that a mail server sends, for evidence.
type dialogNotes struct {
	recorder *recorder // nil: nothing is noted
	server   string
	line     []byte
}

// add notes the lines in bytes that came.
func (d *dialogNotes) add(came []byte) {
	if d.recorder == nil {
		return
	}
	for _, c := range came {
		if c == '\n' {
			d.end()
		} else if len(d.line) < maxDialogLine {
			d.line = append(d.line, c)
		}
	}
}

func (d *dialogNotes) end() {
	if text := strings.TrimSpace(string(d.line)); text != "" {
		d.recorder.line(d.server + ": " + text)
	}
	d.line = d.line[:0]
}

// noteReply notes what an SMTP server answered where its lines are not seen, since they are
// encrypted.
func (w *recorder) noteReply(err error) {
	if reply, ok := errors.AsType[*textproto.Error](err); ok {
		w.line("SMTP: " + reply.Error())
	}
}

// noteChain notes the certificates of a connection that was secured.
func (w *recorder) noteChain(conn *tls.Conn) { w.certificates(conn.ConnectionState().PeerCertificates) }

// noteVerification notes why a chain is refused that the probe verifies itself.
func (w *recorder) noteVerification(err error, problem string) {
	if err != nil && problem != "" {
		w.note(func() { w.chainErr = strings.ReplaceAll(problem, "_", " ") + ": " + err.Error() })
	}
}

// lookupOf is what a DNS check asked for.
func (p dnsProbe) lookupOf(server string, system bool) vigil.EvidenceLookup {
	found := vigil.EvidenceLookup{Name: p.Target(), Type: p.config.RecordType, Server: server}
	if system {
		found.Server = "system"
	}
	return found
}
