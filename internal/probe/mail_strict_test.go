// SPDX-License-Identifier: Apache-2.0

package probe_test

import (
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/mail/mailtest"
	"github.com/vigil-monitor/vigil/internal/probe/probetest"
)

// TestMailByTheLetter sends the message of a round trip through a server that takes nothing which is
// not by the letter of RFC 5321.
func TestMailByTheLetter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	house := probetest.NewPostOffice(t, w.authority, "none", "tls")
	server := mailtest.Start(t, mailtest.Options{
		StartTLS: true, User: "ann", Password: "hunter2", AuthOnlyWithTLS: true, NeedTLS: true,
		Data: func(data string) error {
			house.Put(data, time.Now())
			return nil
		},
	})
	host, port, _ := net.SplitHostPort(server.Addr)
	number, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	smtp := object{"host": host, "port": number, "username": "ann", "password": "hunter2", "verify_tls": false}
	seen := w.run(vigil.TypeSMTPIMAP, house.Config(object{"smtp": smtp, "from": "Probe@A.test", "to": "Ann@B.test"}))
	got := server.Messages()
	if !seen.Success || len(got) != 1 || got[0].From != "Probe@A.test" || got[0].To[0] != "Ann@B.test" || got[0].User != "ann" {
		t.Errorf("got %+v, %+v", seen, got)
	}
	smtp["security"] = "none"
	delete(smtp, "username")
	delete(smtp, "password")
	seen = w.run(vigil.TypeSMTPIMAP, house.Config(object{"smtp": smtp}))
	if !strings.Contains(seen.Error, "530") || !strings.Contains(seen.Error, "it requires STARTTLS") {
		t.Errorf("in clear: %q", seen.Error)
	}
}
