package rendertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// compose loads a file as docker compose does: against the schema, then with the rules between its parts.
func compose(t *testing.T, name string) (*types.Project, error) {
	t.Helper()
	return loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir: filepath.Dir(name), ConfigFiles: []types.ConfigFile{{Filename: name}}, Environment: types.Mapping{},
	}, func(o *loader.Options) { o.SetProjectName("gavel", false) })
}

// The Compose files are valid; the image that their nodes share is built from the repository.
func TestComposeFiles(t *testing.T) {
	for name, services := range map[string]int{"compose.yml": 3, "compose.cluster.yml": 4} {
		p, err := compose(t, filepath.Join("../../configs/compose", name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		built := 0
		for service, s := range p.Services {
			if s.Build != nil {
				built++
				if _, err := os.Stat(filepath.Join(s.Build.Context, s.Build.Dockerfile)); err != nil {
					t.Errorf("%s: %s: %v", name, service, err)
				}
			}
		}
		if len(p.Services) != services || built != 1 {
			t.Errorf("%s: %d services, of which %d are built, want %d and 1", name, len(p.Services), built, services)
		}
	}
}

// A misspelt key, a wrong type and a volume that is not declared are refused, so the test above asserts something.
func TestComposeIsStrict(t *testing.T) {
	text := read(t, "../../configs/compose/compose.yml")
	for old, replaced := range map[string]string{
		"restart: unless-stopped": "restarts: unless-stopped", "read_only: true": "read_only: [true]", "gavel:/var/lib/gavel": "gravel:/var/lib/gavel",
	} {
		wrong := strings.Replace(text, old, replaced, 1)
		if wrong == text {
			t.Fatalf("compose.yml has no %q", old)
		}
		name := filepath.Join(t.TempDir(), "compose.yml")
		if err := os.WriteFile(name, []byte(wrong), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := compose(t, name); err == nil {
			t.Errorf("%q is accepted", replaced)
		}
	}
}
