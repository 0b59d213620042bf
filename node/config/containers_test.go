package config

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// composeFile is what the test reads of a file of Docker Compose.
type composeFile struct {
	Services map[string]struct {
		Image       string
		Build       struct{ Context, Dockerfile string }
		Environment map[string]string
		Volumes     []string
		Ports       []string
		Command     []string
		DependsOn   map[string]any `yaml:"depends_on"`
	}
	Volumes map[string]any
}

// imageVariables returns what the Dockerfile sets with ENV.
func imageVariables(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../configs/container/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`GAVEL_[A-Z_]+=\S+`).FindAllString(string(text), -1)
	if len(found) < 5 {
		t.Fatalf("the image sets %q", found)
	}
	return found
}

// The settings of the image and of every node in the Compose files load without a fault or a misspelt variable; what the
// files name exists; and every port is published on this machine only.
func TestComposeFiles(t *testing.T) {
	image := imageVariables(t)
	files, err := filepath.Glob("../../configs/compose/compose*.yml")
	if err != nil || len(files) != 2 {
		t.Fatalf("%q, %v", files, err)
	}
	nodes := 0
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var f composeFile
		if err := yaml.Unmarshal(text, &f); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		ports := map[string]string{}
		for service, s := range f.Services {
			at := name + " " + service
			for _, p := range s.Ports {
				host := p[:strings.LastIndex(p, ":")]
				if !strings.HasPrefix(host, "127.0.0.1:") || ports[host] != "" {
					t.Errorf("%s: the port %s is not on loopback, or that of %s", at, p, ports[host])
				}
				ports[host] = service
			}
			for _, v := range s.Volumes {
				source, _, _ := strings.Cut(v, ":")
				_, known := f.Volumes[source]
				if _, err := os.Stat(filepath.Join(filepath.Dir(name), source)); !known && err != nil {
					t.Errorf("%s: the volume %s is neither declared nor a file", at, source)
				}
			}
			for of := range s.DependsOn {
				if _, known := f.Services[of]; !known {
					t.Errorf("%s depends on %s, which is no service", at, of)
				}
			}
			if s.Build.Dockerfile != "" {
				if _, err := os.Stat(filepath.Join(filepath.Dir(name), s.Build.Context, s.Build.Dockerfile)); err != nil {
					t.Errorf("%s: %v", at, err)
				}
			}
			if s.Image != "gavel" || len(s.Command) > 0 {
				continue
			}
			nodes++
			variables := slices.Clone(image)
			for key, value := range s.Environment {
				variables = append(variables, key+"="+value)
			}
			l, err := load(variables, nil)
			if err != nil || len(l.Warnings) > 0 || l.DataDir != "/var/lib/gavel" || len(l.origins) != len(variables) {
				t.Errorf("%s: %v, warnings %q, %d of %d variables are settings", at, err, l.Warnings, len(l.origins), len(variables))
			}
		}
	}
	if nodes != 4 {
		t.Errorf("%d nodes were checked, want 4", nodes)
	}
}
