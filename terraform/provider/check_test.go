// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"
)

// specimen is a check of one type with all its members, and with other values of each.
type specimen struct{ before, after string }

// proxied are the members of an HTTP proxy, which http3 does not go through.
const proxied = `proxy = "http://proxy.example:3128"
    proxy_auth = { username = "ada", password = "sesame-proxy" }`

// httpMembers are those of http, https and http3, with more of the type's own.
func httpMembers(scheme, more string, redirects bool) specimen {
	return specimen{
		before: `{
    url                   = "` + scheme + `://shop.example/?a=b&api_key=sesame-query"
    method                = "POST"
    body                  = "sesame-body"
    body_secret           = true
    headers               = { Accept = "text/html" }
    secret_headers        = { X-Api-Key = "sesame-header" }
    oauth2 = { token_url = "https://id.example/token", client_id = "ada", client_secret = "sesame-state", scopes = ["a", "b"],
      audience = "shop", client_authentication = "body" }
    ` + more + `
    expected_status_codes = [200, "3xx"]
    follow_redirects      = false
    ip_version            = "4"
    timeout_seconds       = 5
    verify_tls            = false
    cookies               = false
    max_body_bytes        = 2000000
    stream                = false
    allow_http_redirect   = ` + strconv.FormatBool(redirects) + `
    assertions = [
      { source = "header", property = "Content-Type", operator = "contains", target = "html" },
      { source = "response_time", operator = "lt", target = 500 },
      { source = "json", property = "$.ok", operator = "eq", target = true },
    ]
  }`,
		after: `{
    url                       = "` + scheme + `://shop.example/health"
    method                    = "PUT"
    body                      = ""
    body_secret               = false
    headers                   = { Accept = "application/json", X-Trace = "1" }
    secret_headers_wo         = { X-Api-Key = "wo-header" }
    secret_headers_wo_version = 1
    basic_auth                = { username = "grace", password_wo = "wo-password", password_wo_version = 1 }
    expected_status_code      = 204
    follow_redirects          = true
    ip_version                = "6"
    timeout_seconds           = 7
    verify_tls                = true
    cookies                   = true
    max_body_bytes            = 1000
    stream                    = true
    allow_http_redirect       = false
    assertions                = []
    ` + identity() + `
  }`,
	}
}

// identity is the member tls with a certificate and its key, which are made once.
var identity = sync.OnceValue(func() string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	request := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, request, request, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err)
	}
	text := func(kind string, der []byte) string {
		return strconv.Quote(string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})))
	}
	return fmt.Sprintf("tls = { server_name = \"a.example\", ca_certificates = %[1]s, client_certificate = %[1]s, client_key = %[2]s }",
		text("CERTIFICATE", der), text("PRIVATE KEY", secret))
})

// specimens has every check type.
func specimens() map[string]specimen {
	return map[string]specimen{
		"http": httpMembers("http", proxied, false), "https": httpMembers("https", proxied, true), "http3": httpMembers("https", "", false),
		"tcp": {
			before: `{ host = "db.example", port = 5432, send = "a", expect = "b", timeout_seconds = 3, security = "tls", verify_tls = false,
    ` + identity() + ` }`,
			after: `{ host = "db2.example", port = 5433, send = "c", expect = "", timeout_seconds = 4, security = "none", verify_tls = true }`,
		},
		"grpc": {
			before: `{ host = "a.example", port = 50051, service = "shop", security = "tls", verify_tls = false, timeout_seconds = 3,
    headers = { X-Trace = "1" }, secret_headers = { Authorization = "sesame-header" }, ` + identity() + ` }`,
			after: `{ host = "b.example", port = 50052, service = "", security = "tls", verify_tls = true, timeout_seconds = 4,
    secret_headers_wo = { Authorization = "wo-header" }, secret_headers_wo_version = 1 }`,
		},
		"websocket": {
			before: `{ url = "wss://shop.example/live", send = "a", expect = "b", subprotocols = ["v2", "v1"], verify_tls = false,
    timeout_seconds = 3,
    headers = { Origin = "https://shop.example" }, secret_headers = { Authorization = "sesame-header" }, ` + identity() + ` }`,
			after: `{ url = "wss://shop.example/chat", send = "c", expect = "", subprotocols = ["v3"], verify_tls = true, timeout_seconds = 4,
    secret_headers_wo = { Authorization = "wo-header" }, secret_headers_wo_version = 1 }`,
		},
		"domain": {
			before: `{ domain = "shop.example", alert_days_before = 30, rdap_server = "https://rdap.shop.example/", timeout_seconds = 3 }`,
			after:  `{ domain = "shop2.example", alert_days_before = 0, rdap_server = "https://rdap2.shop.example/", timeout_seconds = 4 }`,
		},
		"ping": {
			before: `{ host = "a.example", packet_count = 2, max_packet_loss_percent = 33.5, ip_version = "4", timeout_seconds = 3 }`,
			after:  `{ host = "b.example", packet_count = 4, max_packet_loss_percent = 0, ip_version = "6", timeout_seconds = 4 }`,
		},
		"dns": {
			before: `{ host = "a.example", record_type = "MX", expected_values = ["10 mail.example."], match = "all", protocol = "tcp",
            resolvers = ["1.1.1.1", "8.8.8.8:53"], expected_rcode = "NOERROR", timeout_seconds = 3 }`,
			after: `{ host = "b.example", record_type = "A", expected_values = [], match = "any", protocol = "udp",
            resolvers = ["8.8.8.8:53", "1.1.1.1"], expected_rcode = "NXDOMAIN", timeout_seconds = 4 }`,
		},
		"ssl": {
			before: `{ host = "a.example", port = 8443, alert_days_before = 14, verify_tls = false, timeout_seconds = 3, ` + identity() + ` }`,
			after:  `{ host = "b.example", port = 443, server_name = "c.example", alert_days_before = 0, verify_tls = true, timeout_seconds = 4 }`,
		},
		"smtp_imap": {
			before: `{
    smtp = { host = "smtp.example", port = 587, security = "starttls", username = "ada", password = "sesame-smtp",
      ` + identity() + ` }
    imap = { host = "imap.example", port = 993, security = "tls", username = "ada", password = "sesame-imap", mailbox = "Probe",
      ` + identity() + ` }
    from = "a@shop.example"
    to = "b@shop.example"
    round_trip = true
    max_delivery_seconds = 30
    timeout_seconds = 3
  }`,
			after: `{
    smtp = { host = "smtp2.example", port = 465, security = "tls", username = "grace",
      password_wo = "wo-smtp", password_wo_version = 1 }
    imap = { host = "imap2.example", port = 143, security = "starttls", username = "grace", mailbox = "INBOX",
      password_wo = "wo-imap", password_wo_version = 1 }
    from = "c@shop.example"
    to = "d@shop.example"
    round_trip = false
    max_delivery_seconds = 31
    timeout_seconds = 4
  }`,
		},
		"throughput": {
			before: `{ url = "https://shop.example/10MB.bin", direction = "download", max_bytes = 1000,
    max_duration_seconds = 3, min_mbps = 0.1, timeout_seconds = 3, ` + identity() + ` }`,
			after: `{ url = "https://shop.example/upload", direction = "upload", max_bytes = 2000,
    max_duration_seconds = 4, min_mbps = 12.25, timeout_seconds = 4 }`,
		},
		"multistep": {
			before: `{ steps = [
    { name = "log in", https = { url = "https://shop.example/login", basic_auth = { username = "ada", password = "sesame-step" } },
      extract = [{ name = "token", source = "json", property = "$.token" }] },
    { name = "connect", tcp = { host = "shop.example", port = 443 } },
  ] }`,
			after: `{ steps = [
    { name = "connect", ping = { host = "shop.example" } },
    { name = "log in", https = { url = "https://shop.example/login", basic_auth = {
      username = "ada", password_wo = "wo-step", password_wo_version = 1 } },
      extract = [{ name = "session", source = "header", property = "X-Session" }] },
  ] }`,
		},
	}
}

// config returns a configuration with one check of each type.
func config(project string, attributes string, pick func(specimen) string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "provider \"vigil\" {\n  project = %q\n  default_labels = { by = \"terraform\" }\n}\n", project)
	for _, name := range slices.Sorted(maps.Keys(specimens())) {
		fmt.Fprintf(&text, "resource \"vigil_check\" %[1]q {\n  name = \"%[1]s of %[2]s\"\n%[3]s\n  %[1]s = %[4]s\n}\n",
			name, project, attributes, pick(specimens()[name]))
	}
	return text.String()
}

// each returns a plan check that expects an action for the checks of all types.
func each(action plancheck.ResourceActionType) resource.ConfigPlanChecks {
	var checks []plancheck.PlanCheck
	for name := range specimens() {
		checks = append(checks, plancheck.ExpectResourceAction("vigil_check."+name, action))
	}
	return resource.ConfigPlanChecks{PreApply: checks}
}

const (
	attributesBefore = "  interval_seconds = 300\n  enabled = false\n  evidence = false\n" +
		"  retry = { attempts = 1, delay_seconds = 2, on = \"network\", unsafe = true }\n"
	attributesAfter = "  interval_seconds = 600\n  regions = [\"eu-central-fra\", \"na-east-ewr\"]\n  simultaneous_regions = false\n" +
		"  enabled = false\n  labels = { team = \"shop\" }\n"
)

func TestCheckOfEachTypeLives(t *testing.T) {
	t.Parallel()
	needsTerraform(t)
	project := unique("types")
	before := config(project, attributesBefore, func(s specimen) string { return s.before })
	after := config(project, attributesAfter, func(s specimen) string { return s.after })
	steps := []resource.TestStep{
		{Config: before, ConfigPlanChecks: each(plancheck.ResourceActionCreate)},
		{Config: after, ConfigPlanChecks: each(plancheck.ResourceActionUpdate), Check: hasNoSecret("sesame-", "wo-")},
	}
	for name := range specimens() {
		steps = append(steps, resource.TestStep{
			ResourceName: "vigil_check." + name, ImportState: true, ImportStateVerify: true,
			ImportStateVerifyIgnore: ignoredAfterImport(name),
		})
	}
	steps = append(steps,
		resource.TestStep{
			PreConfig: func() {
				for _, one := range ofProject(t, project) {
					shared.call(t, http.MethodPut, "/v1/checks/"+one["id"].(string), object{
						"name": "changed outside", "interval_seconds": 900, "labels": object{}, "regions": []string{"na-east-ewr"},
					})
				}
			},
			Config: after, ConfigPlanChecks: each(plancheck.ResourceActionUpdate),
		},
		resource.TestStep{
			PreConfig: func() {
				for _, one := range ofProject(t, project) {
					if one["name"] == "changed outside" || one["interval_seconds"] != 600.0 {
						t.Errorf("the check %s was not repaired", one["name"])
					}
					shared.call(t, http.MethodDelete, "/v1/checks/"+one["id"].(string), nil)
				}
			},
			Config: after, ConfigPlanChecks: each(plancheck.ResourceActionCreate),
		})
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: inProcess(), Steps: steps,
		CheckDestroy: func(*terraform.State) error {
			if left := len(ofProject(t, project)); left > 0 {
				return fmt.Errorf("%d checks are left", left)
			}
			return nil
		},
	})
}

// ofProject lists the checks of a project of Terraform.
func ofProject(t *testing.T, project string) []object {
	t.Helper()
	return shared.list(t, "/v1/checks?limit=100&tool=terraform&project="+project)
}

// ignoredAfterImport are the attributes that only the configuration knows: secrets, and
// what is empty in it and absent in the API.
func ignoredAfterImport(name string) []string {
	ignored := []string{"revision", "labels", "key"}
	for _, one := range []string{
		"basic_auth.password_wo_version", "secret_headers_wo_version", "smtp.password_wo_version", "imap.password_wo_version",
		"steps.1.https.basic_auth.password_wo_version", "tls.client_key", "smtp.tls.client_key", "imap.tls.client_key",
	} {
		ignored = append(ignored, name+"."+one)
	}
	return ignored
}

// hasNoSecret fails when a state has one of the texts.
func hasNoSecret(secrets ...string) resource.TestCheckFunc {
	return func(state *terraform.State) error {
		text := state.String()
		for _, one := range secrets {
			if found := regexp.MustCompile(`.*` + regexp.QuoteMeta(one) + `.*`).FindString(text); found != "" {
				return fmt.Errorf("the state has a secret: %s", found)
			}
		}
		return nil
	}
}

// extras are nested attributes of a check that are no types; the attributes of the
// specimens have them.
func extras() []string { return []string{"retry", "heartbeat"} }
