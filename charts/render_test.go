// SPDX-License-Identifier: Apache-2.0

// Package charts_test renders the chart as helm does, and reads what comes out as a cluster
// would: by the types of Kubernetes, in which no member may be unknown.
package charts_test

import (
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/releaseutil"
	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
)

// values are those of an installation. The name of each becomes that of a subtest.
type values = map[string]any

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // where helm's engine says that it lints
	os.Exit(m.Run())
}

// required are the values without which the roles cannot run.
func required(more ...values) values {
	all := values{
		"temporal": values{"address": "temporal-frontend.temporal:7233"},
		"secret":   values{"existing": "vigil-secrets"},
	}
	for _, one := range more {
		all = chartutil.CoalesceTables(one, all)
	}
	return all
}

// parse reads values as helm reads a file of them.
func parse(t *testing.T, text string) values {
	t.Helper()
	read, err := chartutil.ReadValues([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func load(t *testing.T) *chart.Chart {
	t.Helper()
	read, err := loader.Load("vigil")
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// scheme knows the types that the chart may write.
func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		core.AddToScheme, apps.AddToScheme, batch.AddToScheme, networking.AddToScheme, policy.AddToScheme, monitoring.AddToScheme,
	} {
		if err := add(known); err != nil {
			t.Fatal(err)
		}
	}
	return known
}

// render returns the objects of the chart for some values, or the error that helm shows.
func render(t *testing.T, release string, given values) ([]runtime.Object, error) {
	t.Helper()
	options := chartutil.ReleaseOptions{Name: release, Namespace: "monitoring", IsInstall: true}
	all, err := chartutil.ToRenderValues(load(t), given, options, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Engine{Strict: true}.Render(load(t), all)
	if err != nil {
		return nil, err
	}
	known := scheme(t)
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, known, known, json.SerializerOptions{Yaml: true, Strict: true})
	var objects []runtime.Object
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Ext(name) == ".txt" {
			continue
		}
		manifests := releaseutil.SplitManifests(files[name])
		for i := range len(manifests) {
			text := manifests[fmt.Sprintf("manifest-%d", i)]
			if strings.TrimSpace(text) == "" {
				continue
			}
			object, _, err := decoder.Decode([]byte(text), nil, nil)
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, text)
			}
			objects = append(objects, object)
		}
	}
	return objects, nil
}

// metaOf returns the metadata of an object.
func metaOf(t *testing.T, object runtime.Object) meta.Object {
	t.Helper()
	found, ok := object.(meta.Object)
	if !ok {
		t.Fatalf("%T has no metadata", object)
	}
	return found
}

// pod is a pod that an object makes, with where it is.
type pod struct {
	name string
	hook bool
	spec core.PodSpec
	tags map[string]string
}

func pods(t *testing.T, objects []runtime.Object) []pod {
	t.Helper()
	var all []pod
	for _, object := range objects {
		at := metaOf(t, object)
		_, hook := at.GetAnnotations()["helm.sh/hook"]
		var template core.PodTemplateSpec
		switch made := object.(type) {
		case *apps.Deployment:
			template = made.Spec.Template
		case *apps.StatefulSet:
			template = made.Spec.Template
			for _, claim := range made.Spec.VolumeClaimTemplates {
				template.Spec.Volumes = append(template.Spec.Volumes, core.Volume{Name: claim.Name})
			}
		case *batch.Job:
			template = made.Spec.Template
		default:
			continue
		}
		all = append(all, pod{at.GetName(), hook, template.Spec, template.Labels})
	}
	return all
}
