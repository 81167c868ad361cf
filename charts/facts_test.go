// SPDX-License-Identifier: Apache-2.0

package charts_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

var update = flag.Bool("update", false, "write testdata again")

// find returns the object of a type and a name.
func find[T runtime.Object](t *testing.T, objects []runtime.Object, name string) T {
	t.Helper()
	for _, object := range objects {
		if made, ok := object.(T); ok && metaOf(t, object).GetName() == name {
			return made
		}
	}
	t.Fatalf("there is no %T %s", *new(T), name)
	return *new(T)
}

func TestRoles(t *testing.T) {
	t.Parallel()
	objects, err := render(t, "vigil", required(parse(t, combinations["groups"]), parse(t, combinations["tls"])))
	if err != nil {
		t.Fatal(err)
	}
	t.Run("PingNeedsNoCapabilityAndOnlyWorkersMayPing", func(t *testing.T) {
		t.Parallel()
		for _, one := range pods(t, objects) {
			worker := strings.Contains(one.name, "worker")
			if may := len(one.spec.SecurityContext.Sysctls) == 1; may != worker {
				t.Errorf("%s: may ping: %t", one.name, may)
			}
		}
	})
	t.Run("GroupOfWorkersHasItsRegionsAndNodes", func(t *testing.T) {
		t.Parallel()
		us := find[*apps.Deployment](t, objects, "vigil-worker-us")
		args := us.Spec.Template.Spec.Containers[0].Args
		if !slices.Equal(args, []string{"worker", "--region", "na-east-ewr,na-west-sea"}) || *us.Spec.Replicas != 3 {
			t.Errorf("%v, %d", args, *us.Spec.Replicas)
		}
		eu := find[*apps.Deployment](t, objects, "vigil-worker-eu")
		if eu.Spec.Template.Spec.NodeSelector["region"] != "eu" {
			t.Errorf("%v", eu.Spec.Template.Spec.NodeSelector)
		}
	})
	t.Run("OnlyWhatHasSeveralPodsHasABudget", func(t *testing.T) {
		t.Parallel()
		var names []string
		for _, object := range objects {
			if budget, ok := object.(*policy.PodDisruptionBudget); ok {
				names = append(names, budget.Name)
			}
		}
		if slices.Sort(names); !slices.Equal(names, []string{"vigil-api", "vigil-control", "vigil-worker-us"}) {
			t.Errorf("%v", names)
		}
	})
	t.Run("MigrationComesBeforeTheNamespaceAndBothBeforeTheRoles", func(t *testing.T) {
		t.Parallel()
		job := find[*batch.Job](t, objects, "vigil-prepare")
		spec := job.Spec.Template.Spec
		if job.Annotations["helm.sh/hook"] != "pre-install,pre-upgrade" || spec.InitContainers[0].Args[0] != "migrate" ||
			!slices.Equal(spec.Containers[0].Args, []string{"temporal", "setup"}) {
			t.Errorf("%v", job)
		}
		settings := find[*core.ConfigMap](t, objects, "vigil-hook")
		if settings.Annotations["helm.sh/hook-weight"] >= job.Annotations["helm.sh/hook-weight"] { // -10 and 0, as text too
			t.Errorf("the settings come at %s, the job at %s", settings.Annotations["helm.sh/hook-weight"], job.Annotations["helm.sh/hook-weight"])
		}
	})
	t.Run("ClientCertificateIsMountedAndNamed", func(t *testing.T) {
		t.Parallel()
		for _, one := range pods(t, objects) {
			for _, container := range slices.Concat(one.spec.InitContainers, one.spec.Containers) {
				if !slices.ContainsFunc(container.Env, func(env core.EnvVar) bool { return env.Value == "/temporal/tls.key" }) {
					t.Errorf("%s %s: %v", one.name, container.Name, container.Env)
				}
			}
		}
	})
	t.Run("ChangeOfASettingRestartsThePods", func(t *testing.T) {
		t.Parallel()
		other, err := render(t, "vigil", required(parse(t, combinations["settings"])))
		if err != nil {
			t.Fatal(err)
		}
		of := func(objects []runtime.Object) string {
			return find[*apps.Deployment](t, objects, "vigil-api").Spec.Template.Annotations["checksum/settings"]
		}
		if of(objects) == of(other) {
			t.Error("the pods have the same annotation")
		}
	})
	t.Run("TagOfARoleWinsOverThatOfAll", func(t *testing.T) {
		t.Parallel()
		objects, err := render(t, "vigil", required(parse(t, combinations["images"])))
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{"vigil-api": "v1.2.2", "vigil-control": "v1.2.3", "vigil-worker-primary": "v1.2.3"} {
			image := find[*apps.Deployment](t, objects, name).Spec.Template.Spec.Containers[0].Image
			if image != "registry.example.com/vigil-roles:"+want {
				t.Errorf("%s runs %s", name, image)
			}
		}
	})
}

func TestAllInOne(t *testing.T) {
	t.Parallel()
	objects, err := render(t, "vigil", profiles()["all-in-one"])
	if err != nil {
		t.Fatal(err)
	}
	set := find[*apps.StatefulSet](t, objects, "vigil")
	if len(set.Spec.VolumeClaimTemplates) != 1 || *set.Spec.Replicas != 1 || len(pods(t, objects)) != 1 {
		t.Errorf("%v", set)
	}
	shared := slices.ContainsFunc(set.Spec.Template.Spec.Volumes, func(volume core.Volume) bool {
		return volume.EmptyDir != nil && volume.EmptyDir.Medium == core.StorageMediumMemory
	})
	if !shared {
		t.Error("/dev/shm is no memory")
	}
	settings := find[*core.ConfigMap](t, objects, "vigil")
	if settings.Data["VIGIL_DATA_DIR"] != "/data" || settings.Data["VIGIL_REGIONS"] != "primary" || settings.Data["TEMPORAL_ADDRESS"] != "" {
		t.Errorf("%v", settings.Data)
	}
}

// Agents are off by default; they have the token as a file and none of the platform's secrets and settings.
func TestAgent(t *testing.T) {
	t.Parallel()
	objects, err := render(t, "vigil", required())
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range pods(t, objects) {
		if strings.Contains(one.name, "agent") {
			t.Errorf("%s is there by default", one.name)
		}
	}
	for name, url := range map[string]string{"agent": "https://vigil.example.com", "one agent": "http://vigil:80"} {
		if objects, err = render(t, "vigil", required(parse(t, combinations[name]))); err != nil {
			t.Fatal(err)
		}
		container := find[*apps.Deployment](t, objects, "vigil-agent").Spec.Template.Spec.Containers[0]
		if len(container.EnvFrom) > 0 || container.LivenessProbe != nil || container.Image != "vigil-agent:"+load(t).AppVersion() {
			t.Errorf("%+v", container)
		}
		if !slices.ContainsFunc(container.Env, func(env core.EnvVar) bool { return env.Name == "VIGIL_AGENT_URL" && env.Value == url }) {
			t.Errorf("%s: %v", name, container.Env)
		}
	}
}

// refusals are values that helm must refuse, and what its error says.
var refusals = map[string]string{
	"{temporal: {address: ''}}":                                               "temporal.address",
	"{secret: {existing: ''}}":                                                "DATABASE_URL",
	"{secret: {values: {VIGIL_SECRET_KEY: x}}}":                               "not both",
	"{secret: {existing: '', values: {DATABASE_URL: a}}}":                     "VIGIL_SECRET_KEY",
	"{secret: {existing: '', values: {PASSWORD: a}}}":                         "PASSWORD",
	"{mode: cluster}":                                                         "mode",
	"{replicas: 3}":                                                           "replicas",
	"{api: {replica: 3}}":                                                     "replica",
	"{settings: {VIGIL_TURN_RATE: 20}}":                                       "VIGIL_TURN_RATE",
	"{settings: {VIGIL_LISTEN: '127.0.0.1:1'}}":                               "VIGIL_LISTEN",
	"{settings: {VIGIL_SMTP_URL: 'smtp://a'}}":                                "VIGIL_SMTP_URL",
	"{settings: {VIGIL_READ_DATABASE_URL: 'postgres://a'}}":                   "VIGIL_READ_DATABASE_URL",
	"{settings: {VIGIL_RESULTS_DATABASE_URL_EU_CENTRAL_FRA: 'postgres://a'}}": "VIGIL_RESULTS_DATABASE_URL_EU_CENTRAL_FRA",
	"{workers: {groups: [{name: a, replicas: 1}]}}":                           "regions",
	"{workers: {groups: [{name: A, regions: [a], replicas: 1}]}}":             "name",
	"{ingress: {enabled: true}}":                                              "ingress.host",
	"{image: {tag: 'a b'}}":                                                   "tag",
	"{publicURL: vigil.example.com}":                                          "publicURL",
	"{agent: {enabled: true}}":                                                "agent.tokenSecret",
	"{agent: {url: vigil.example.com}}":                                       "url",
	"{agent: {allow: [intranet]}}":                                            "allow",
	"{agent: {settings: {VIGIL_AGENT_TOKEN: vga_x}}}":                         "VIGIL_AGENT_TOKEN",
	"{agent: {settings: {VIGIL_LOG_LEVEL: debug}}}":                           "VIGIL_LOG_LEVEL",
	"{allInOne: {storage: {size: much}}}":                                     "size",
}

func TestValuesThatAreWrongAreRefused(t *testing.T) {
	t.Parallel()
	for given, want := range refusals {
		if _, err := render(t, "vigil", required(parse(t, given))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want a word of %s", given, err, want)
		}
	}
}

// TestSettings compares the settings that the chart writes with those that the program has.
func TestSettings(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile(filepath.Join("..", "docs", "settings.md"))
	if err != nil {
		t.Fatal(err)
	}
	files := slices.Clone(load(t).Templates)
	schema := load(t).Schema
	seen := 0
	for _, text := range append(slices.Collect(contents(files)), string(schema)) {
		for _, name := range regexp.MustCompile(`\b(?:VIGIL|TEMPORAL|DATABASE)_[A-Z_]+\b`).FindAllString(text, -1) {
			seen++
			if strings.HasPrefix(name, "TEMPORAL_TLS_") || name == "TEMPORAL_NAMESPACE" {
				continue // variables of Temporal's own tools
			}
			if !strings.Contains(string(document), "`"+name+"`") && name != "VIGIL_PORT" {
				t.Errorf("docs/settings.md has no %s", name)
			}
		}
	}
	if seen < 15 {
		t.Errorf("only %d names of settings were found", seen)
	}
}

func contents(files []*chart.File) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, file := range files {
			if !yield(string(file.Data)) {
				return
			}
		}
	}
}

// TestCommands keeps the command lines of the chart beside it, where a test of the program
// tries each of them.
func TestCommands(t *testing.T) {
	t.Parallel()
	var lines []string
	for _, given := range profiles() {
		objects, err := render(t, "vigil", given)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range pods(t, objects) {
			for _, container := range slices.Concat(one.spec.InitContainers, one.spec.Containers) {
				lines = append(lines, strings.Join(container.Args, " "))
				if probe := container.ReadinessProbe; probe != nil && probe.Exec != nil {
					lines = append(lines, strings.TrimPrefix(strings.Join(probe.Exec.Command, " "), "/vigil "))
				}
			}
		}
	}
	slices.Sort(lines)
	made := strings.Join(slices.Compact(lines), "\n") + "\n"
	file := filepath.Join("testdata", "commands")
	if *update {
		if err := os.WriteFile(file, []byte(made), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if kept, err := os.ReadFile(file); err != nil || string(kept) != made {
		t.Errorf("renew it with -update: %v\n%s", err, made)
	}
}

// TestDocument renders the values that docs/kubernetes.md shows.
func TestDocument(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile(filepath.Join("..", "docs", "kubernetes.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(document), -1)
	if len(blocks) < 2 {
		t.Fatalf("%d blocks of values", len(blocks))
	}
	for _, block := range blocks {
		given := parse(t, block[1])
		if given["mode"] != "all-in-one" {
			given = required(given)
		}
		if _, err := render(t, "vigil", given); err != nil {
			t.Errorf("%v\n%s", err, block[1])
		}
	}
}
