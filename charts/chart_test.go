// SPDX-License-Identifier: Apache-2.0

package charts_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// combinations are values that are tried alone and, for each mode, with all the others.
var combinations = map[string]string{
	"ingress": "{publicURL: https://vigil.example.com, ingress: {enabled: true, className: nginx, " +
		"host: vigil.example.com, tlsSecret: vigil-tls, annotations: {a: b}}}",
	"monitor":     "{metrics: {serviceMonitor: {enabled: true, interval: 15s, labels: {release: prometheus}}}}",
	"no metrics":  "{metrics: {enabled: false}}",
	"no policies": "{networkPolicy: {enabled: false}, podDisruptionBudget: {enabled: false}}",
	"peers":       "{networkPolicy: {apiFrom: [{namespaceSelector: {matchLabels: {a: b}}}], metricsFrom: [{ipBlock: {cidr: 10.0.0.0/8}}]}}",
	"settings":    `{settings: {VIGIL_TURN_RATE: "20", VIGIL_ALLOWED_PRIVATE_CIDRS: "10.0.0.0/8,192.168.0.0/16", VIGIL_CANARIES: "off"}}`,
	"tls":         "{temporal: {tls: {enabled: true, secret: temporal-tls, mutual: true}}}",
	"tls public":  "{temporal: {setup: false, tls: {enabled: true}}}",
	"no hooks":    "{migrations: {enabled: false}, temporal: {setup: false}}",
	"one hook":    "{temporal: {setup: false}}",
	"account":     "{serviceAccount: {create: false, name: shared}}",
	"its account": "{serviceAccount: {create: true, name: own, annotations: {a: b}}}",
	"pods": "{podLabels: {team: ops}, podAnnotations: {a: b}, priorityClassName: high, nodeSelector: {a: b}, " +
		"tolerations: [{key: a, operator: Exists}], affinity: {nodeAffinity: {}}}",
	"images": "{image: {roles: registry.example.com/vigil-roles, tag: v1.2.3, pullPolicy: Always, " +
		"pullSecrets: [{name: pull}]}, api: {tag: v1.2.2}}",
	"agent": "{agent: {enabled: true, url: https://vigil.example.com, tokenSecret: vigil-secrets, allow: [10.0.0.0/8, 192.168.0.0/16], " +
		"nodeSelector: {a: b}, settings: {VIGIL_AGENT_LOG_LEVEL: debug, HTTPS_PROXY: 'http://proxy:3128'}}}",
	"one agent": "{agent: {enabled: true, tokenSecret: vigil-secrets, replicas: 1}}",
	"service":   "{service: {type: LoadBalancer, port: 8080, annotations: {a: b}}}",
	"groups": "{workers: {groups: [{name: eu, regions: [eu-central-fra], replicas: 1, nodeSelector: {region: eu}}, " +
		"{name: us, regions: [na-east-ewr, na-west-sea], replicas: 3}]}}",
	"no workers": "{workers: {groups: []}}",
	"alone":      "{api: {replicas: 1}, control: {replicas: 0}, workers: {groups: [{name: a, regions: [eu-central-fra], replicas: 0}]}}",
	"storage":    "{allInOne: {storage: {size: 200Gi, className: fast}, sharedMemory: 1Gi, regions: all}}",
	"claim":      "{allInOne: {storage: {existingClaim: old}}}",
	"values": `{secret: {existing: "", values: {DATABASE_URL: "postgres://v:p@db/v?a=b", ` +
		`VIGIL_SECRET_KEY: "00", VIGIL_SMTP_URL: "smtp://mail"}}}`,
	"resources": `{api: {resources: {requests: {cpu: 1, memory: 1Gi}, limits: {memory: 2Gi}}}, ` +
		`control: {resources: {}}, workers: {resources: {limits: {cpu: "2"}}}}`,
}

// profiles are the modes, each as a minimum of values.
func profiles() map[string]values {
	return map[string]values{"roles": required(), "all-in-one": {"mode": "all-in-one"}}
}

func TestChart(t *testing.T) {
	t.Parallel()
	for mode, minimum := range profiles() {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			holds(t, "vigil", minimum)
			names := slices.Sorted(maps.Keys(combinations))
			for i, name := range names {
				one := chartutil.CoalesceTables(parse(t, combinations[name]), minimum)
				t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
					t.Parallel()
					holds(t, "production", one)
					for _, other := range names[i+1:] {
						holds(t, "vigil-of-a-team-with-a-name-that-is-as-long-as-may-be", chartutil.CoalesceTables(parse(t, combinations[other]),
							chartutil.CoalesceTables(parse(t, combinations[name]), minimum)))
					}
				})
			}
		})
	}
}

// holds renders the chart and checks that its parts fit each other.
func holds(t *testing.T, release string, given values) {
	t.Helper()
	objects, err := render(t, release, given)
	if err != nil {
		t.Fatalf("%v\n%v", err, given)
	}
	seen := map[string]bool{}
	for _, object := range objects {
		at := metaOf(t, object)
		key := fmt.Sprintf("%T %s", object, at.GetName())
		if seen[key] || at.GetName() == "" || len(at.GetName()) > 63 {
			t.Errorf("%s is there twice, or has no name that a label can have", key)
		}
		seen[key] = true
		for name, value := range at.GetLabels() {
			if len(value) > 63 {
				t.Errorf("%s: the label %s has %d bytes", key, name, len(value))
			}
		}
	}
	made := pods(t, objects)
	if len(made) == 0 {
		t.Error("there is no pod")
	}
	for _, one := range made {
		one.refersTo(t, objects)
		one.isSafe(t)
	}
	selects(t, objects, made)
	if t.Failed() {
		text, _ := yaml.Marshal(given)
		t.Fatalf("with the values\n%s", text)
	}
}

// refersTo checks that what the pod names is in the chart, for hooks among the hooks, or is named by the values.
func (p pod) refersTo(t *testing.T, objects []runtime.Object) {
	t.Helper()
	outside := []string{"vigil-secrets", "temporal-tls", "shared", "default", ""}
	named := func(kind, name string) {
		if slices.Contains(outside, name) {
			return
		}
		for _, object := range objects {
			at := metaOf(t, object)
			_, hook := at.GetAnnotations()["helm.sh/hook"]
			if at.GetName() == name && strings.HasSuffix(fmt.Sprintf("%T", object), "."+kind) && hook == p.hook {
				return
			}
		}
		t.Errorf("%s names the %s %q, which is not there", p.name, kind, name)
	}
	named("ServiceAccount", p.spec.ServiceAccountName)
	volumes := map[string]bool{}
	for _, volume := range p.spec.Volumes {
		volumes[volume.Name] = true
		if volume.Secret != nil {
			named("Secret", volume.Secret.SecretName)
		}
	}
	for _, container := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
		for _, mount := range container.VolumeMounts {
			if !volumes[mount.Name] {
				t.Errorf("%s mounts %s, which is no volume", p.name, mount.Name)
			}
		}
		for _, from := range container.EnvFrom {
			if from.ConfigMapRef != nil {
				named("ConfigMap", from.ConfigMapRef.Name)
			}
			if from.SecretRef != nil {
				named("Secret", from.SecretRef.Name)
			}
		}
		for _, probe := range []*core.Probe{container.LivenessProbe, container.ReadinessProbe, container.StartupProbe} {
			if probe != nil && probe.HTTPGet != nil && !slices.ContainsFunc(container.Ports, func(port core.ContainerPort) bool {
				return port.Name == probe.HTTPGet.Port.StrVal
			}) {
				t.Errorf("%s: a probe asks port %s, which is not there", p.name, probe.HTTPGet.Port.StrVal)
			}
		}
	}
}

// isSafe checks what a cluster with the restricted standard of pod security demands, and
// that a pod that serves says when it is ready.
func (p pod) isSafe(t *testing.T) {
	t.Helper()
	if s := p.spec.SecurityContext; s == nil || s.RunAsNonRoot == nil || !*s.RunAsNonRoot || *s.RunAsUser != 65532 ||
		s.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
		t.Errorf("%s may run as root", p.name)
	}
	if token := p.spec.AutomountServiceAccountToken; token == nil || *token {
		t.Errorf("%s has the token of its service account", p.name)
	}
	if links := p.spec.EnableServiceLinks; links == nil || *links {
		t.Errorf("%s gets variables of services, which look like settings", p.name)
	}
	if grace := p.spec.TerminationGracePeriodSeconds; !p.hook && (grace == nil || *grace < 15) {
		t.Errorf("%s has too little time to stop", p.name)
	}
	for _, container := range slices.Concat(p.spec.InitContainers, p.spec.Containers) {
		s := container.SecurityContext
		if s == nil || !*s.ReadOnlyRootFilesystem || *s.AllowPrivilegeEscalation || !slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}) {
			t.Errorf("%s: the container %s has rights that it does not need", p.name, container.Name)
		}
		if len(container.Args) == 0 || strings.HasSuffix(container.Image, ":") {
			t.Errorf("%s: the container %s has no command or no version", p.name, container.Name)
		}
		if !p.hook && container.ReadinessProbe == nil {
			t.Errorf("%s: the container %s has no readiness probe", p.name, container.Name)
		}
	}
}

// selects checks that everything that selects pods finds some.
func selects(t *testing.T, objects []runtime.Object, made []pod) {
	t.Helper()
	finds := func(object runtime.Object, selector *meta.LabelSelector) {
		chosen, err := meta.LabelSelectorAsSelector(selector)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range made {
			if chosen.Matches(labelSet(one.tags)) {
				return
			}
		}
		t.Errorf("%T %s selects no pod: %s", object, metaOf(t, object).GetName(), chosen)
	}
	for _, object := range objects {
		switch made := object.(type) {
		case *apps.Deployment:
			finds(object, made.Spec.Selector)
		case *apps.StatefulSet:
			finds(object, made.Spec.Selector)
		case *policy.PodDisruptionBudget:
			finds(object, made.Spec.Selector)
		case *networking.NetworkPolicy:
			finds(object, &made.Spec.PodSelector)
		case *core.Service:
			finds(object, &meta.LabelSelector{MatchLabels: made.Spec.Selector})
		case *monitoring.ServiceMonitor:
			if !slices.ContainsFunc(objects, func(object runtime.Object) bool {
				service, ok := object.(*core.Service)
				return ok && service.Labels["app.kubernetes.io/component"] == made.Spec.Selector.MatchLabels["app.kubernetes.io/component"] &&
					slices.ContainsFunc(service.Spec.Ports, func(port core.ServicePort) bool { return port.Name == made.Spec.Endpoints[0].Port })
			}) {
				t.Error("the ServiceMonitor selects no service")
			}
		}
	}
}

// labelSet are labels as a selector reads them.
type labelSet map[string]string

func (l labelSet) Has(name string) bool   { _, ok := l[name]; return ok }
func (l labelSet) Get(name string) string { return l[name] }
func (l labelSet) Lookup(name string) (string, bool) {
	value, ok := l[name]
	return value, ok
}

func TestLint(t *testing.T) {
	t.Parallel()
	for mode, given := range profiles() {
		found := lint.AllWithKubeVersion("vigil", given, "monitoring", nil)
		for _, message := range found.Messages {
			if message.Severity > support.InfoSev {
				t.Errorf("%s: %s", mode, message)
			}
		}
	}
}
