package rendertest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/validation"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"
)

// decoder reads objects as the API server of Kubernetes does with strict validation of fields: a field that is unknown, has
// a wrong type or occurs twice is an error. It also knows the objects of the Prometheus operator.
func decoder(t *testing.T) runtime.Decoder {
	t.Helper()
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, monitoring.AddToScheme} {
		if err := add(known); err != nil {
			t.Fatal(err)
		}
	}
	return serializer.NewCodecFactory(known, serializer.EnableStrict).UniversalDeserializer()
}

// decode returns the objects of rendered files.
func decode(t *testing.T, files map[string]string) []meta.Object {
	t.Helper()
	d := decoder(t)
	var all []meta.Object
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, ".txt") {
			continue
		}
		for text := range strings.SplitSeq("\n"+files[name], "\n---\n") {
			if strings.TrimSpace(text) == "" {
				continue
			}
			decoded, _, err := d.Decode([]byte(text), nil, nil)
			if err != nil {
				t.Fatalf("%s: %v\n%s", name, err, text)
			}
			o, ok := decoded.(meta.Object)
			if !ok {
				t.Fatalf("%s: %T is no object with a name", name, decoded)
			}
			all = append(all, o)
		}
	}
	return all
}

// objectsOf renders a set of values.
func objectsOf(t *testing.T, set string) []meta.Object {
	t.Helper()
	values, known := valueSets(t)[set]
	if !known {
		t.Fatalf("there are no values %s", set)
	}
	files, err := render(values)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, files)
}

// of returns the objects of a type, by name.
func of[T meta.Object](all []meta.Object) map[string]T {
	found := map[string]T{}
	for _, o := range all {
		if x, ok := o.(T); ok {
			found[x.GetName()] = x
		}
	}
	return found
}

// one returns the object of a type with a name.
func one[T meta.Object](t *testing.T, all []meta.Object, name string) T {
	t.Helper()
	found, ok := of[T](all)[name]
	if !ok {
		t.Fatalf("there is no %T %s", found, name)
	}
	return found
}

// Every object of every set decodes strictly into its type, and its name, namespace, labels and annotations are valid.
func TestObjectsAreThoseOfKubernetes(t *testing.T) {
	for set := range valueSets(t) {
		names := map[string]bool{}
		for _, o := range objectsOf(t, set) {
			kind := o.(runtime.Object).GetObjectKind().GroupVersionKind().Kind
			if names[kind+" "+o.GetName()] {
				t.Errorf("%s: two of %s %s", set, kind, o.GetName())
			}
			names[kind+" "+o.GetName()] = true
			valid := validation.NameIsDNSSubdomain
			if kind == "Service" {
				valid = validation.NameIsDNS1035Label
			}
			for _, err := range validation.ValidateObjectMetaAccessor(o, true, valid, field.NewPath("metadata")) {
				t.Errorf("%s: %s %s: %v", set, kind, o.GetName(), err)
			}
			if o.GetNamespace() != namespace || o.GetLabels()["app.kubernetes.io/instance"] != release {
				t.Errorf("%s: %s %s is in %s with the labels %v", set, kind, o.GetName(), o.GetNamespace(), o.GetLabels())
			}
			if kind == "Secret" {
				t.Errorf("%s: the chart makes the secret %s; what is in values is no secret", set, o.GetName())
			}
		}
	}
}

// A misspelt field is refused by the decoder, so the test above asserts something.
func TestDecoderIsStrict(t *testing.T) {
	for _, text := range []string{
		"apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {publishNotReadyAdresses: true}\n",
		"apiVersion: v1\nkind: Service\nmetadata: {name: x}\nspec: {ports: [{port: http}]}\n",
		"apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: x}\nspec: {selector: {}, endpoints: [{ports: http}]}\n",
		"apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: x}\nspec: {maxUnavailables: 1}\n",
	} {
		if o, _, err := decoder(t).Decode([]byte(text), nil, nil); err == nil {
			t.Errorf("accepted: %+v", o)
		}
	}
}

// What selects pods selects those of the StatefulSet and not that of helm test, which is no node.
func TestSelectors(t *testing.T) {
	for set := range valueSets(t) {
		all := objectsOf(t, set)
		nodes, test := one[*apps.StatefulSet](t, all, "gavel").Spec.Template.Labels, one[*core.Pod](t, all, "gavel-test").Labels
		if errs := metavalidation.ValidateLabels(nodes, field.NewPath("labels")); len(errs) > 0 {
			t.Errorf("%s: %v", set, errs)
		}
		selectors := map[string]labels.Selector{}
		add := func(what string, s *meta.LabelSelector) {
			selector, err := meta.LabelSelectorAsSelector(s)
			if err != nil {
				t.Fatalf("%s: %s: %v", set, what, err)
			}
			selectors[what] = selector
		}
		add("StatefulSet", one[*apps.StatefulSet](t, all, "gavel").Spec.Selector)
		for name, s := range of[*core.Service](all) {
			add("Service "+name, &meta.LabelSelector{MatchLabels: s.Spec.Selector})
		}
		for name, b := range of[*policy.PodDisruptionBudget](all) {
			add("PodDisruptionBudget "+name, b.Spec.Selector)
		}
		for name, p := range of[*networking.NetworkPolicy](all) {
			add("NetworkPolicy "+name, &p.Spec.PodSelector)
			add("NetworkPolicy peers of "+name, p.Spec.Ingress[0].From[0].PodSelector)
		}
		for what, s := range selectors {
			if s.Empty() || !s.Matches(labels.Set(nodes)) || s.Matches(labels.Set(test)) {
				t.Errorf("%s: %s selects %v; nodes have %v, the pod of the test %v", set, what, s, nodes, test)
			}
		}
	}
}

// Services and ingresses name ports that exist, and the headless service has the nodes that are not ready.
func TestServices(t *testing.T) {
	for set := range valueSets(t) {
		all := objectsOf(t, set)
		ports := map[string]bool{}
		for _, p := range nodeContainer(t, all).Ports {
			ports[p.Name] = true
		}
		services := of[*core.Service](all)
		for name, s := range services {
			for _, p := range s.Spec.Ports {
				if !ports[p.TargetPort.StrVal] {
					t.Errorf("%s: the service %s leads to the port %s, which the container lacks", set, name, p.TargetPort.String())
				}
			}
		}
		peers := services["gavel-peers"]
		if peers == nil || peers.Spec.ClusterIP != core.ClusterIPNone || !peers.Spec.PublishNotReadyAddresses ||
			one[*apps.StatefulSet](t, all, "gavel").Spec.ServiceName != "gavel-peers" {
			t.Errorf("%s: the headless service is %+v", set, peers)
		}
		for name, i := range of[*networking.Ingress](all) {
			backend := i.Spec.Rules[0].HTTP.Paths[0].Backend.Service
			if s := services[backend.Name]; s == nil || s.Spec.Ports[0].Name != backend.Port.Name {
				t.Errorf("%s: the ingress %s leads to %s %s", set, name, backend.Name, backend.Port.Name)
			}
		}
		for name, m := range of[*monitoring.ServiceMonitor](all) {
			s, err := meta.LabelSelectorAsSelector(&m.Spec.Selector)
			if err != nil {
				t.Fatal(err)
			}
			if !s.Matches(labels.Set(peers.Labels)) || s.Matches(labels.Set(services["gavel-management"].Labels)) ||
				peers.Spec.Ports[1].Name != m.Spec.Endpoints[0].Port {
				t.Errorf("%s: %s scrapes each node through the headless service, not %+v", set, name, m.Spec)
			}
		}
	}
	if n := len(of[*networking.Ingress](objectsOf(t, "ingress"))); n != 2 {
		t.Errorf("%d ingresses, want 2", n)
	}
	three := objectsOf(t, "three-nodes")
	if len(of[*monitoring.ServiceMonitor](three)) != 1 || len(of[*networking.NetworkPolicy](three)) != 1 {
		t.Error("the three nodes lack what was asked for")
	}
	if rules := one[*monitoring.PrometheusRule](t, three, "gavel"); len(rules.Spec.Groups) < 4 || rules.Spec.Groups[0].Rules[0].Alert != "GavelDown" {
		t.Errorf("the alerts are %+v", rules.Spec.Groups)
	}
}

// nodeContainer returns the container of a node.
func nodeContainer(t *testing.T, all []meta.Object) *core.Container {
	t.Helper()
	containers := one[*apps.StatefulSet](t, all, "gavel").Spec.Template.Spec.Containers
	if len(containers) != 1 {
		t.Fatalf("a pod has %d containers, want 1", len(containers))
	}
	return &containers[0]
}
