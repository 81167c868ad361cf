// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/vigil-monitor/vigil"
)

// healthPackage matches the package of the health service in a definition of protobuf.
var healthPackage = regexp.MustCompile(`(?m)^\s*package\s+grpc\.health\.v1\s*;`)

// kumaGRPC calls a method and looks for a text in what it returns. Vigil calls the health service
// (grpc.health.v1.Health): a check for another method is disabled. The metadata are not used by Kuma.
func (k *kumaImport) kumaGRPC(m kumaRow) (func(*Resource), vigil.CheckType, string) {
	service, lost := grpcHealth(m)
	if lost != "" && k.options.Switches[kumaAsTCP] {
		return k.otherType(m)
	}
	const secure = 443 // without a port
	host, port := splitAddress(strings.TrimPrefix(m.line("grpc_url"), "dns:///"), secure)
	host, reason := kumaHost(host)
	if reason == "" && !validPort(port) {
		reason = fmt.Sprintf("grpc_url %q has a port that is none", withoutUser(m.line("grpc_url")))
	}
	return func(c *Resource) {
		config := Object{{"host", host}, {"port", port}}
		if service != "" {
			config.Set("service", Literal(service))
		}
		if !m.flag("grpc_enable_tls", false) {
			config.Set("security", "none")
		}
		c.Set("config", config)
		if lost == "" {
			loseGRPCKeyword(c, m)
			return
		}
		c.Lose(lost, "a check of gRPC calls the method Check of grpc.health.v1.Health only; this one does, and is disabled")
		c.Set("enabled", false)
	}, vigil.TypeGRPC, reason
}

// grpcHealth returns the service whose health a monitor asks for, or what keeps it from being such a
// question.
func grpcHealth(m kumaRow) (service, lost string) {
	name := m.line("grpc_service_name")
	called := name + "/" + m.line("grpc_method")
	last := name[strings.LastIndexByte(name, '.')+1:]
	body := m.object("grpc_body")
	if body == nil && strings.TrimSpace(m.text("grpc_body")) != "" {
		return "", "grpc_body"
	}
	switch {
	case last != "Health" || !strings.EqualFold(m.line("grpc_method"), "check") || !healthPackage.MatchString(m.text("grpc_protobuf")):
		return "", "grpc_method: " + called
	case !kumaKeyword(m, "SERVING"):
		return "", "keyword: " + m.line("keyword")
	}
	return body.text("service"), ""
}

// kumaKeyword reports whether a monitor is up when the health service answers with a status.
func kumaKeyword(m kumaRow, status string) bool {
	return strings.Contains(`{"status":"`+status+`"}`, m.text("keyword")) != m.flag("invert_keyword", false)
}

// loseGRPCKeyword notes a keyword that other answers than SERVING have, too.
func loseGRPCKeyword(c *Resource, m kumaRow) {
	for _, status := range []string{"NOT_SERVING", "UNKNOWN", "SERVICE_UNKNOWN"} {
		if kumaKeyword(m, status) {
			c.Lose("keyword: "+m.line("keyword"), "Kuma takes %s for up, too; the check demands SERVING", status)
			return
		}
	}
}
