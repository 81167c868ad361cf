package importer

import "vigil/manifest"

// readClientTLS names the certificate that Gatus shows to a server. Gatus reads it from files
// of its own machine, so variables take the place of their texts.
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
	var config Object
	for _, one := range []struct{ member, source, path string }{
		{"client_certificate", "certificate-file", certificate}, {"client_key", "private-key-file", key},
	} {
		name := base + "_" + manifest.VariableName(one.member)
		e.lose("client.tls."+one.source+": "+shown(one.path), "put the text of the file into the variable %s", name)
		config.Set(one.member, e.g.Variable(name))
	}
	e.config.Set("tls", config)
}
