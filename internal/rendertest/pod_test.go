package rendertest

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gavel-ads/gavel/node/config"
)

// drainMax is how long a node needs to stop after drain.delay. BOUND: the promise of the start-up contract.
const drainMax = 15 * time.Second

var (
	imageVariable = regexp.MustCompile(`GAVEL_[A-Z_]+=\S+`)
	reference     = regexp.MustCompile(`\$\(([A-Za-z_][A-Za-z0-9_]*)\)`)
)

// started is what a node of a pod starts with.
type started struct {
	*config.Loaded

	variables []string // Names of the variables of the pod that begin with GAVEL_.
}

// start loads the configuration of a pod as gavel serve does: variables of the image, then those of the container, in which
// references to earlier ones are replaced as the kubelet does, and the file of the ConfigMap.
func start(t *testing.T, all []meta.Object, pod string, c *core.Container, volumes []core.Volume) started {
	t.Helper()
	values := map[string]string{}
	for _, v := range imageVariable.FindAllString(read(t, "../../configs/container/Dockerfile"), -1) {
		name, value, _ := strings.Cut(v, "=")
		values[name] = value
	}
	if len(values) < 5 {
		t.Fatalf("the image sets %v", values)
	}
	for _, from := range c.EnvFrom { // The secret is that of the three nodes' values.
		for _, name := range []string{"GAVEL_SMTP_PASSWORD", "GAVEL_BLOB_ACCESS_KEY", "GAVEL_BLOB_SECRET_KEY"} {
			values[name] = from.SecretRef.Name
		}
	}
	var names []string
	for i := range c.Env {
		value := valueOf(t, pod, c, &c.Env[i])
		values[c.Env[i].Name] = reference.ReplaceAllStringFunc(value, func(r string) string {
			known, ok := values[reference.FindStringSubmatch(r)[1]]
			if !ok {
				t.Errorf("%s refers to %s, which is not set before it", c.Env[i].Name, r)
			}
			return known
		})
		if strings.HasPrefix(c.Env[i].Name, "GAVEL_") {
			names = append(names, c.Env[i].Name)
		}
	}
	if values["GAVEL_CONFIG"] != "" {
		values["GAVEL_CONFIG"] = mountedConfig(t, all, values["GAVEL_CONFIG"], c, volumes)
	}
	environ := make([]string, 0, len(values))
	for name, value := range values {
		environ = append(environ, name+"="+value)
	}
	loaded, err := config.Load(config.Input{Defaults: config.Default(), Environ: environ})
	if err != nil || len(loaded.Warnings) > 0 {
		t.Fatalf("%s does not start: %v, warnings %q", pod, err, loaded.Warnings)
	}
	return started{loaded, names}
}

// valueOf returns the value of a variable as the kubelet makes it.
func valueOf(t *testing.T, pod string, c *core.Container, v *core.EnvVar) string {
	t.Helper()
	switch from := v.ValueFrom; {
	case from == nil:
		return v.Value
	case from.SecretKeyRef != nil:
		return "secret-" + from.SecretKeyRef.Name + "-" + from.SecretKeyRef.Key
	case from.FieldRef != nil && from.FieldRef.FieldPath == "metadata.name":
		return pod
	case from.ResourceFieldRef != nil && from.ResourceFieldRef.Resource == "limits.memory":
		limit, unit := c.Resources.Limits.Memory().Value(), from.ResourceFieldRef.Divisor.Value()
		return strconv.FormatInt((limit+unit-1)/unit, 10)
	}
	t.Fatalf("the variable %s comes from %+v", v.Name, v.ValueFrom)
	return ""
}

// mountedConfig writes the file that a path of the container leads to, and returns where.
func mountedConfig(t *testing.T, all []meta.Object, name string, c *core.Container, volumes []core.Volume) string {
	t.Helper()
	volume := volumeOf(t, name, c, volumes)
	if volume == nil || volume.ConfigMap == nil {
		t.Fatalf("%s is in no ConfigMap", name)
	}
	text, ok := one[*core.ConfigMap](t, all, volume.ConfigMap.Name).Data[path.Base(name)]
	if !ok {
		t.Fatalf("the ConfigMap has no %s", path.Base(name))
	}
	file := filepath.Join(t.TempDir(), path.Base(name))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// volumeOf returns the volume that holds a path of the container, nil for none.
func volumeOf(t *testing.T, name string, c *core.Container, volumes []core.Volume) *core.Volume {
	t.Helper()
	for _, m := range c.VolumeMounts {
		if name != m.MountPath && !strings.HasPrefix(name, m.MountPath+"/") {
			continue
		}
		i := slices.IndexFunc(volumes, func(v core.Volume) bool { return v.Name == m.Name })
		if i < 0 {
			t.Fatalf("the volume %s is mounted and not declared", m.Name)
		}
		return &volumes[i]
	}
	return nil
}

// startOf starts a pod of a StatefulSet.
func startOf(t *testing.T, all []meta.Object, number int) started {
	t.Helper()
	set := one[*apps.StatefulSet](t, all, "gavel")
	volumes := slices.Clone(set.Spec.Template.Spec.Volumes)
	for _, claim := range set.Spec.VolumeClaimTemplates {
		volumes = append(volumes, core.Volume{Name: claim.Name})
	}
	return start(t, all, fmt.Sprintf("%s-%d", set.Name, number), nodeContainer(t, all), volumes)
}

// Every variable that a pod sets is a setting, and every file that a setting names is in a volume of the pod. The variables
// and the file together are a configuration that a node starts with.
func TestPodsStart(t *testing.T) {
	for set := range valueSets(t) {
		all := objectsOf(t, set)
		for number := range int(*one[*apps.StatefulSet](t, all, "gavel").Spec.Replicas) {
			node := startOf(t, all, number)
			settings := map[string]config.Setting{}
			for _, s := range config.Settings() {
				settings[s.Env] = s
			}
			for _, name := range node.variables {
				if s, known := settings[name]; !known || node.Origin(s.Key).Name != "env "+name {
					t.Errorf("%s: the variable %s is no setting", set, name)
				}
			}
			template := one[*apps.StatefulSet](t, all, "gavel").Spec.Template.Spec
			volumes := slices.Clone(template.Volumes)
			for _, v := range volumes {
				if v.Secret != nil && (v.Secret.DefaultMode == nil || *v.Secret.DefaultMode != 0o440) {
					t.Errorf("%s: the files of the secret %s are not for the group of the node alone", set, v.Secret.SecretName)
				}
			}
			for _, claim := range one[*apps.StatefulSet](t, all, "gavel").Spec.VolumeClaimTemplates {
				volumes = append(volumes, core.Volume{Name: claim.Name})
			}
			for _, file := range []string{
				node.DataDir, node.KeysFile, node.PeerCertificate, node.PeerKey, node.PeerAuthority, node.Auction.TLSCertificate,
				node.Auction.TLSKey, node.Management.TLSCertificate, node.Management.TLSKey, node.Admin.PasswordFile, node.Export.Dir,
			} {
				if file != "" && volumeOf(t, file, &template.Containers[0], volumes) == nil {
					t.Errorf("%s: %s is in no volume", set, file)
				}
			}
		}
	}
}

// The nodes of a cluster find each other by the headless service, and a single node has an address there, too.
func TestPeers(t *testing.T) {
	for set, replicas := range map[string]int{"one-node": 1, "three-nodes": 3, "five-nodes": 5, "ingress": 1} {
		all := objectsOf(t, set)
		if n := int(*one[*apps.StatefulSet](t, all, "gavel").Spec.Replicas); n != replicas {
			t.Errorf("%s: %d replicas, want %d", set, n, replicas)
		}
		for number := range replicas {
			node := startOf(t, all, number)
			id := fmt.Sprintf("gavel-%d", number)
			if node.NodeID != id || node.PeerAdvertise != id+".gavel-peers.ads.svc.cluster.local:7400" || node.PeerListen != ":7400" {
				t.Errorf("%s: %s has the id %s and the address %s", set, id, node.NodeID, node.PeerAdvertise)
			}
			if replicas == 1 {
				if node.Founders() != 1 || node.Clustered() || len(node.Join) > 0 {
					t.Errorf("%s: a single node waits for others: %+v", set, node.Join)
				}
				continue
			}
			if node.Founders() != replicas || !slices.Equal(node.Join, []string{"dns:gavel-peers.ads.svc.cluster.local:7400"}) {
				t.Errorf("%s: %s creates a cluster of %d with %q", set, id, node.Founders(), node.Join)
			}
		}
	}
	if three := startOf(t, objectsOf(t, "three-nodes"), 2); three.PeerCertificate != "/etc/gavel/peers/gavel-2.crt" || three.PeerKey != "/etc/gavel/peers/gavel-2.key" {
		t.Errorf("gavel-2 has the certificate %s", three.PeerCertificate)
	}
	if five := startOf(t, objectsOf(t, "five-nodes"), 2); five.PeerCertificate != "/etc/gavel/peers/tls.crt" || five.PeerAuthority != "/etc/gavel/peers/ca.crt" {
		t.Errorf("gavel-2 has the certificate %s", five.PeerCertificate)
	}
	if p := one[*apps.StatefulSet](t, objectsOf(t, "three-nodes"), "gavel").Spec.PodManagementPolicy; p != apps.ParallelPodManagement {
		t.Errorf("the pods start %s: the first would wait for the others for ever", p)
	}
}

// Plain HTTP is accepted only where the values say so; the memory, the drain and the settings of the file are those of the values.
func TestSettings(t *testing.T) {
	one, three, five := startOf(t, objectsOf(t, "one-node"), 0), startOf(t, objectsOf(t, "three-nodes"), 1), startOf(t, objectsOf(t, "five-nodes"), 4)
	if !one.Server.PlainHTTP || one.Auction.TLS() || three.Server.PlainHTTP || !three.Auction.TLS() || !three.Management.TLS() {
		t.Errorf("plain HTTP: %v and %v", one.Server.PlainHTTP, three.Server.PlainHTTP)
	}
	if one.Memory.Limit != 2*config.GiB || five.Memory.Limit != 8*config.GiB || startOf(t, objectsOf(t, "ingress"), 0).Memory.Limit != 0 {
		t.Errorf("the memory is %s and %s", one.Memory.Limit, five.Memory.Limit)
	}
	if three.Quotas.Products != 30_000_000 || three.Groups != 4 || three.Staleness != 5*time.Second || len(three.CORS.Origins) != 2 ||
		three.Log.Level != "warn" || three.Log.Format != "json" || three.SMTP.From != "ads@example.com" || three.SMTP.Password.Reveal() != "gavel-secrets" ||
		three.Server.PublicURL != "https://ads.example.com" || three.Admin.Email != "ops@example.com" || five.Log.Access != 1000 {
		t.Errorf("the settings are %+v", three.Config)
	}
	if three.BootstrapAuctionKey.Reveal() != "secret-gavel-keys-auction-key" || three.BootstrapManagementKey.Reveal() != "secret-gavel-keys-management-key" || one.BootstrapAuctionKey != "" {
		t.Error("the first keys are not those of the secret")
	}
}

// The kubelet waits for a node that drains, asks for its life what does not depend on other nodes, and with the scheme that the
// listener has.
func TestLifeOfPods(t *testing.T) {
	for set := range valueSets(t) {
		all := objectsOf(t, set)
		node, pod, c := startOf(t, all, 0), one[*apps.StatefulSet](t, all, "gavel").Spec.Template.Spec, nodeContainer(t, all)
		if grace := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second; grace <= node.Drain.Duration(true)+drainMax {
			t.Errorf("%s: a pod is killed after %v, and a node needs %v and %v", set, grace, node.Drain.Duration(true), drainMax)
		}
		want := core.URISchemeHTTP
		if node.Management.TLS() {
			want = core.URISchemeHTTPS
		}
		for probe, asks := range map[*core.Probe]string{c.StartupProbe: "/healthz", c.LivenessProbe: "/healthz", c.ReadinessProbe: "/readyz"} {
			if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != asks || probe.HTTPGet.Scheme != want || probe.HTTPGet.Port.StrVal != "management" {
				t.Errorf("%s: the probe is %+v, want %s of %s", set, probe, asks, want)
			}
		}
		for _, p := range c.Ports {
			listen := map[string]string{"auctions": node.AuctionListen, "management": node.ManageListen, "peers": node.PeerListen}[p.Name]
			if listen != fmt.Sprintf(":%d", p.ContainerPort) {
				t.Errorf("%s: the port %s is %d, and the node listens on %s", set, p.Name, p.ContainerPort, listen)
			}
		}
		for name, b := range of[*policy.PodDisruptionBudget](all) {
			if b.Spec.MaxUnavailable == nil || b.Spec.MaxUnavailable.IntValue() != 1 || b.Spec.MinAvailable != nil {
				t.Errorf("%s: the budget %s is %+v", set, name, b.Spec)
			}
		}
		test := one[*core.Pod](t, all, "gavel-test")
		asked := start(t, all, "gavel-test", &test.Spec.Containers[0], test.Spec.Volumes)
		if url := asked.LocalManageURL(asked.ManageListen); url != strings.ToLower(string(want))+"://gavel-management:8081" {
			t.Errorf("%s: the test asks %s", set, url)
		}
	}
}

// A container has no right that it does not need, and no token of Kubernetes.
func TestPodsHaveNoRights(t *testing.T) {
	for set := range valueSets(t) {
		all := objectsOf(t, set)
		for _, pod := range []core.PodSpec{one[*apps.StatefulSet](t, all, "gavel").Spec.Template.Spec, one[*core.Pod](t, all, "gavel-test").Spec} {
			p, c := pod.SecurityContext, pod.Containers[0].SecurityContext
			if p == nil || !*p.RunAsNonRoot || *p.RunAsUser != 65532 || *p.FSGroup != 65532 || p.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
				t.Errorf("%s: the pod's rights are %+v", set, p)
			}
			if c == nil || !*c.ReadOnlyRootFilesystem || *c.AllowPrivilegeEscalation || !slices.Equal(c.Capabilities.Drop, []core.Capability{"ALL"}) {
				t.Errorf("%s: the container's rights are %+v", set, c)
			}
			if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken || pod.EnableServiceLinks == nil || *pod.EnableServiceLinks {
				t.Errorf("%s: the pod has a token, or variables of other services", set)
			}
		}
	}
}

// Two nodes are never on one machine unless the values allow it, and are spread over zones.
func TestPlacement(t *testing.T) {
	for set, want := range map[string]struct{ required, preferred, spread int }{
		"one-node": {1, 0, 1}, "three-nodes": {1, 0, 1}, "five-nodes": {0, 1, 1}, "ingress": {0, 0, 0},
	} {
		pod := one[*apps.StatefulSet](t, objectsOf(t, set), "gavel").Spec.Template
		required, preferred := 0, 0
		if a := pod.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
			required, preferred = len(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution), len(a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
		}
		spread := pod.Spec.TopologySpreadConstraints
		if required != want.required || preferred != want.preferred || len(spread) != want.spread {
			t.Errorf("%s: %d required, %d preferred, %d spread, want %+v", set, required, preferred, len(spread), want)
		}
		if len(spread) > 0 && (spread[0].LabelSelector == nil || spread[0].LabelSelector.MatchLabels["app.kubernetes.io/instance"] != release) {
			t.Errorf("%s: the rule about zones counts %+v", set, spread[0].LabelSelector)
		}
	}
}
