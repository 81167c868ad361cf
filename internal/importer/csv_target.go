// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/vigil-monitor/vigil"
)

// csvProblem says in which column a row is wrong.
type csvProblem struct{ column, text string }

const csvTypes = "http, https, tcp, ping, dns, ssl, domain, websocket, grpc"

// csvConfig returns the type and the config of a check for a target.
func csvConfig(kind, target string) (vigil.CheckType, Object, *csvProblem) {
	scheme, rest, found := strings.Cut(target, "://")
	scheme = strings.ToLower(scheme)
	column := "type"
	if kind == "" {
		column = "target"
		switch {
		case !found:
			return "", nil, &csvProblem{column, "needs a scheme such as https:// when the row has no type"}
		case scheme == "ws" || scheme == "wss":
			kind = string(vigil.TypeWebSocket)
		default:
			kind = scheme
		}
	}
	bare := target
	if found {
		bare = rest
	}
	switch given := vigil.CheckType(kind); given {
	case vigil.TypeHTTP, vigil.TypeHTTPS:
		return csvHTTP(kind, target, scheme, found)
	case vigil.TypeWebSocket:
		address, err := url.Parse(target)
		if err != nil || address.Host == "" || address.User != nil || scheme != "ws" && scheme != "wss" || len(target) > maxAddress {
			return "", nil, &csvProblem{"target", "is no address that begins with ws:// or wss:// and has no user"}
		}
		return given, Object{{"url", Literal(target)}}, nil
	case vigil.TypeTCP, vigil.TypeSSL, vigil.TypeGRPC:
		return csvHostPort(given, bare)
	case vigil.TypePing, vigil.TypeDNS, vigil.TypeDomain:
		host, reason := kumaHost(strings.TrimSuffix(bare, "/"))
		if reason != "" {
			return "", nil, &csvProblem{"target", reason}
		}
		switch given {
		case vigil.TypeDNS:
			return given, Object{{"host", host}, {"record_type", "A"}}, nil
		case vigil.TypeDomain:
			return given, Object{{"domain", host}}, nil
		default:
			return given, Object{{"host", host}}, nil
		}
	default:
		return "", nil, &csvProblem{column, fmt.Sprintf("the type %q is none of %s", cut(kind, maxName), csvTypes)}
	}
}

// csvHTTP reads an address with or without a scheme. The scheme must be that of the type.
func csvHTTP(kind, target, scheme string, found bool) (vigil.CheckType, Object, *csvProblem) {
	if !found {
		target = kind + "://" + target
	}
	address, read, reason := kumaURL(target)
	switch {
	case reason != "":
		return "", nil, &csvProblem{"target", reason}
	case address.User != nil:
		return "", nil, &csvProblem{"target", "has a user; leave it out, and write basic_auth into the files"}
	case found && scheme != kind:
		return "", nil, &csvProblem{"type", fmt.Sprintf("is %s, and the target begins with %s://", kind, scheme)}
	}
	return read, Object{{"url", Literal(address.String())}}, nil
}

func csvHostPort(kind vigil.CheckType, target string) (vigil.CheckType, Object, *csvProblem) {
	const https = 443
	standard := int64(0)
	if kind == vigil.TypeSSL {
		standard = https
	}
	if strings.Contains(target, "@") {
		return "", nil, &csvProblem{"target", "has a user; a check of this type needs a host and a port only"}
	}
	host, port := splitAddress(target, standard)
	host, reason := kumaHost(host)
	switch {
	case reason != "":
		return "", nil, &csvProblem{"target", reason}
	case !validPort(port):
		return "", nil, &csvProblem{"target", "needs a host and a port, such as db.example.com:5432"}
	}
	return kind, Object{{"host", host}, {"port", port}}, nil
}
