package rendertest

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

const (
	chartDir  = "../../configs/helm/gavel"
	release   = "gavel"
	namespace = "ads"
)

var rewrite = flag.Bool("rewrite", false, "accept what the golden tests print")

// render renders the chart with values, and returns the text of each file that is not empty.
func render(values map[string]any) (map[string]string, error) {
	chart, err := loader.Load(chartDir)
	if err != nil {
		return nil, err
	}
	options := common.ReleaseOptions{Name: release, Namespace: namespace, Revision: 1, IsInstall: true}
	top, err := util.ToRenderValues(chart, values, options, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(chart, top)
	maps.DeleteFunc(files, func(_, text string) bool { return strings.TrimSpace(text) == "" })
	return files, err
}

// parseValues reads values as Helm's command line reads a file of them.
func parseValues(t *testing.T, text string) map[string]any {
	t.Helper()
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// valueSets returns the files of values below ci, by name.
func valueSets(t *testing.T) map[string]map[string]any {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(chartDir, "ci", "*-values.yaml"))
	if err != nil || len(files) < 4 {
		t.Fatalf("%q, %v", files, err)
	}
	sets := map[string]map[string]any{}
	for _, name := range files {
		sets[strings.TrimSuffix(filepath.Base(name), "-values.yaml")] = parseValues(t, read(t, name))
	}
	return sets
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What each set of values renders to is in testdata, so that a change of a template shows in a review as a change of objects.
// The alerts are left out: they are those of configs/prometheus, as TestAlertsAreThoseOfPrometheus says.
func TestRenderedObjects(t *testing.T) {
	for name, values := range valueSets(t) {
		files, err := render(values)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var all strings.Builder
		for _, file := range slices.Sorted(maps.Keys(files)) {
			if strings.HasSuffix(file, ".txt") || strings.HasSuffix(file, "prometheusrule.yaml") {
				continue
			}
			all.WriteString("---\n# " + file + "\n" + strings.Trim(files[file], "\n-") + "\n")
		}
		golden := filepath.Join("testdata", name+".yaml")
		if *rewrite {
			if err := os.WriteFile(golden, []byte(all.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if want := read(t, golden); all.String() != want {
			t.Errorf("%s renders otherwise than %s says; go test -rewrite accepts it:\n%s", name, golden, firstDifference(all.String(), want))
		}
	}
}

// firstDifference returns the first line in which two texts differ.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return "got  " + g[i] + "\nwant " + w[i]
		}
	}
	return "one is longer"
}

// The notes after an installation say how to get keys where none were named, and what is in plain text.
func TestNotes(t *testing.T) {
	for name, want := range map[string][]string{
		"one-node":    {"gavel keys create --kind management", "accept API keys in plain text", "http://gavel-management.ads:8081/", "take backups", "gavel admin create"},
		"three-nodes": {"those of the secret gavel-keys", "https://gavel-auctions.ads:8080/v2/", "starts with 3 nodes"},
		"ingress":     {"https://console.example.com/", "http://ads.example.com/"},
	} {
		files, err := render(valueSets(t)[name])
		if err != nil {
			t.Fatal(err)
		}
		notes := files["gavel/templates/NOTES.txt"]
		for _, part := range want {
			if !strings.Contains(notes, part) {
				t.Errorf("%s: the notes do not say %q:\n%s", name, part, notes)
			}
		}
	}
}

// The alerts of the chart are a copy, because Helm reads no file outside of a chart.
func TestAlertsAreThoseOfPrometheus(t *testing.T) {
	if read(t, filepath.Join(chartDir, "files", "rules.yml")) != read(t, "../../configs/prometheus/rules.yml") {
		t.Error("configs/helm/gavel/files/rules.yml is not configs/prometheus/rules.yml; copy it")
	}
}

// README.md names every value.
func TestReadmeNamesEveryValue(t *testing.T) {
	readme := read(t, filepath.Join(chartDir, "README.md"))
	// A value whose members are free, such as config, is named as a whole.
	free := []string{"config", "resources", "backup.resources", "podSecurityContext", "securityContext"}
	var check func(path string, value any)
	check = func(path string, value any) {
		members, isMap := value.(map[string]any)
		if isMap && len(members) > 0 && !slices.Contains(free, path) {
			for name, member := range members {
				check(strings.TrimPrefix(path+"."+name, "."), member)
			}
			return
		}
		if !strings.Contains(readme, "`"+path+"`") {
			t.Errorf("README.md does not name the value %s", path)
		}
	}
	check("", parseValues(t, read(t, filepath.Join(chartDir, "values.yaml"))))
}
