package rendertest

import (
	"maps"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// backupOf returns the pod of the backup.
func backupOf(t *testing.T, all []meta.Object) core.PodSpec {
	t.Helper()
	return one[*batch.CronJob](t, all, "gavel-backup").Spec.JobTemplate.Spec.Template.Spec
}

// The job asks the management listener with a key, stores to a bucket with the settings of the file and the secret, or to a
// volume, and no service selects its pod.
func TestBackupJob(t *testing.T) {
	for set, want := range map[string]struct{ url, key, mount string }{
		"three-nodes": {"https://ads.example.com", "management-key", ""},
		"five-nodes":  {"http://gavel-management.ads:8081", "backup", "/backups"},
	} {
		all := objectsOf(t, set)
		pod := backupOf(t, all)
		c := &pod.Containers[0]
		variables := map[string]core.EnvVar{}
		for _, v := range c.Env {
			variables[v.Name] = v
		}
		if variables["GAVEL_MANAGE"].Value != want.url {
			t.Errorf("%s: it asks %s, want %s", set, variables["GAVEL_MANAGE"].Value, want.url)
		}
		if from := variables["GAVEL_MANAGE_KEY"].ValueFrom; from == nil || from.SecretKeyRef == nil || from.SecretKeyRef.Name != "gavel-keys" || from.SecretKeyRef.Key != want.key {
			t.Errorf("%s: its key is %+v", set, variables["GAVEL_MANAGE_KEY"])
		}
		mounted := slices.ContainsFunc(c.VolumeMounts, func(m core.VolumeMount) bool { return m.MountPath == want.mount })
		if mounted != (want.mount != "") {
			t.Errorf("%s: it mounts %+v", set, c.VolumeMounts)
		}
		own := one[*batch.CronJob](t, all, "gavel-backup").Spec.JobTemplate.Spec.Template.Labels
		for name, s := range of[*core.Service](all) {
			if s.Spec.Selector["app.kubernetes.io/name"] == own["app.kubernetes.io/name"] {
				t.Errorf("%s: the service %s selects the job", set, name)
			}
		}
	}
	all := objectsOf(t, "three-nodes")
	pod := backupOf(t, all)
	loaded := start(t, all, "gavel-backup", withoutClient(&pod.Containers[0]), pod.Volumes)
	if loaded.Blob.Endpoint != "s3.example.com" || loaded.Blob.SecretKey.Reveal() != "gavel-secrets" {
		t.Errorf("the bucket is at %s", loaded.Blob.Endpoint)
	}
}

// The archive runs all the time beside the nodes, with the address, the key and the place of the backup.
func TestArchiveRuns(t *testing.T) {
	for set, every := range map[string]string{"three-nodes": "30s", "five-nodes": "1m"} {
		all := objectsOf(t, set)
		archive, backup := one[*apps.Deployment](t, all, "gavel-archive"), backupOf(t, all)
		c, b := &archive.Spec.Template.Spec.Containers[0], &backup.Containers[0]
		if !slices.Equal(c.Args[:5], []string{"archive", "--dir", b.Args[2], "--every", every}) || !slices.Equal(c.Args[5:], b.Args[5:]) {
			t.Errorf("%s: the archive has the arguments %q, the backup %q", set, c.Args, b.Args)
		}
		if !reflect.DeepEqual(c.Env, b.Env) || !reflect.DeepEqual(c.VolumeMounts, b.VolumeMounts) || *archive.Spec.Replicas != 1 ||
			archive.Spec.Strategy.Type != apps.RecreateDeploymentStrategyType {
			t.Errorf("%s: %+v", set, archive.Spec)
		}
		if !maps.Equal(archive.Spec.Selector.MatchLabels, archive.Spec.Template.Labels) {
			t.Errorf("%s: it selects %v", set, archive.Spec.Selector)
		}
		for name, s := range of[*core.Service](all) {
			if s.Spec.Selector["app.kubernetes.io/name"] == archive.Spec.Template.Labels["app.kubernetes.io/name"] {
				t.Errorf("%s: the service %s selects the archive", set, name)
			}
		}
	}
}

// withoutClient returns a container without the variables of clients, which are no settings of a node.
func withoutClient(c *core.Container) *core.Container {
	settings := *c
	settings.Env = slices.DeleteFunc(slices.Clone(c.Env), func(v core.EnvVar) bool { return strings.HasPrefix(v.Name, "GAVEL_MANAGE") })
	return &settings
}

// gavel itself accepts the arguments of all containers: it fails because nothing answers, and not because of them.
func TestArguments(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "gavel")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./node")
	build.Dir = "../.." // The module of the product.
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	all := objectsOf(t, "five-nodes")
	backup := slices.Clone(backupOf(t, all).Containers[0].Args)
	dir := slices.Index(backup, "/backups")
	if dir < 0 {
		t.Fatalf("the backup has the arguments %q", backup)
	}
	backup[dir] = t.TempDir()
	archive := slices.Clone(one[*apps.Deployment](t, all, "gavel-archive").Spec.Template.Spec.Containers[0].Args)
	archive[slices.Index(archive, "/backups")], archive[slices.Index(archive, "--every")+1] = backup[dir], "0s" // Once.
	for _, args := range [][]string{
		backup, archive, one[*core.Pod](t, all, "gavel-test").Spec.Containers[0].Args, append(slices.Clone(nodeContainer(t, all).Args), "--help"),
	} {
		cmd := exec.CommandContext(t.Context(), binary, args...)
		cmd.Dir = t.TempDir()
		cmd.Env = []string{"GAVEL_MANAGE=http://127.0.0.1:1", "GAVEL_MANAGE_LISTEN=127.0.0.1:1", "GAVEL_MANAGE_KEY=key"}
		text, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != 1 && (code != 0 || !slices.Contains(args, "--help")) {
			t.Errorf("gavel %s: %v: %s", strings.Join(args, " "), err, text)
		}
	}
}
