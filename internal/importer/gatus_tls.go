// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"github.com/vigil-monitor/vigil"
	"github.com/vigil-monitor/vigil/internal/manifest"
)

// readTLS reads tls://: a check of the certificate, or one of TCP over TLS when something is sent.
func (e *gatusEndpoint) readTLS(rest string) {
	e.kind = vigil.TypeSSL
	host, port, ok := e.hostPort(rest)
	if !ok {
		return
	}
	e.config.Set("host", host)
	e.config.Set("port", port)
	if body := e.body(); body != "" {
		e.kind = vigil.TypeTCP
		e.config.Set("security", "tls")
		e.config.Set("send", body)
	}
	e.notVerified(&e.config)
	e.eachCondition(func(c condition) bool {
		switch {
		case e.kind == vigil.TypeTCP && c.source == sourceCertificate:
			return e.certificateCondition(c)
		case e.kind == vigil.TypeTCP:
			return e.tcpCondition(c)
		case c.source != sourceCertificate:
			return false
		}
		days, ok := e.certificateDays(c)
		if ok && days >= 0 {
			before, _ := e.config.Get("alert_days_before").(int)
			e.config.Set("alert_days_before", max(before, days))
		}
		return ok
	})
}

// readSTARTTLS reads starttls://, which Gatus speaks as SMTP does.
func (e *gatusEndpoint) readSTARTTLS(rest string) {
	e.kind = vigil.TypeSMTPIMAP
	host, port, ok := e.hostPort(rest)
	if !ok {
		return
	}
	server := Object{{"host", host}, {"port", port}, {"security", "starttls"}}
	e.notVerified(&server)
	e.config.Set("smtp", server)
	e.take("body") // Gatus does not send it
	e.eachCondition(func(c condition) bool { return c.source == sourceCertificate && e.certificateCondition(c) })
}

// readClientTLS names the certificate that Gatus shows to a server of HTTP or gRPC, as it does to
// no other. Gatus reads it from files of its own machine, so variables take the place of their
// texts.
func (e *gatusEndpoint) readClientTLS() {
	given := e.client.inner("tls")
	if given == nil {
		return
	}
	certificate, key := given.marked("certificate-file"), given.marked("private-key-file")
	if given.take("renegotiation") != nil {
		e.lose("client.tls.renegotiation", "a check never negotiates TLS again, which TLS 1.3 does not have")
	}
	given.finish()
	if certificate == "" || key == "" {
		e.lose("client.tls", "a client certificate needs certificate-file and private-key-file")
		e.unreachable = true
		return
	}
	base := manifest.VariableName(keyName(e.group, e.name))
	var texts Object
	for _, one := range []struct{ member, source, path string }{
		{"client_certificate", "certificate-file", certificate}, {"client_key", "private-key-file", key},
	} {
		name := base + "_" + manifest.VariableName(one.member)
		e.lose("client.tls."+one.source+": "+shown(one.path), "put the text of the file into the variable %s", name)
		texts.Set(one.member, e.g.Variable(name))
	}
	e.config.Set("tls", texts)
}
