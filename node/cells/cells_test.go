package cells

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

var rewrite = flag.Bool("rewrite", false, "write what is rendered into the golden files")

// read returns a file of testdata.
func read(t *testing.T, name string) *File {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := Read(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The configurations of the files of testdata are those of the golden files.
func TestRender(t *testing.T) {
	for _, name := range []string{"two", "default"} {
		for program, extension := range map[string]string{"haproxy": ".haproxy.cfg", "nginx": ".nginx.conf", "envoy": ".envoy.yaml"} {
			got, err := Render(program, read(t, name))
			if err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name+extension)
			if *rewrite {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s differs from what is rendered; go test ./node/cells -rewrite accepts it:\n%s", golden, got)
			}
		}
	}
	if _, err := Render("apache", read(t, "two")); err == nil {
		t.Error("a configuration for an unknown program was rendered")
	}
}

// What is rendered for Envoy is YAML, with a cluster for each cell and listener.
func TestEnvoyIsYAML(t *testing.T) {
	for _, name := range []string{"two", "default"} {
		text, err := Render("envoy", read(t, name))
		if err != nil {
			t.Fatal(err)
		}
		var parsed struct {
			Static struct {
				Listeners []any `yaml:"listeners"`
				Clusters  []any `yaml:"clusters"`
			} `yaml:"static_resources"`
		}
		if err := yaml.Unmarshal([]byte(text), &parsed); err != nil || len(parsed.Static.Listeners) != 2 || len(parsed.Static.Clusters) != 4 {
			t.Errorf("%s: %d listeners, %d clusters, %v", name, len(parsed.Static.Listeners), len(parsed.Static.Clusters), err)
		}
	}
}

const valid = `auction_listen: ":80"
manage_listen: ":81"
default: a
cells:
  - name: a
    hosts: [a.example]
    keys: [AAAAAAAA]
    nodes: [{name: n1, auction: "10.0.0.1:80", manage: "10.0.0.1:81"}]
`

// Each fault is reported with its place and without the wrong value, which may be a secret or the end of a directive.
func TestFaults(t *testing.T) {
	if _, err := Read([]byte(valid)); err != nil {
		t.Fatal(err)
	}
	second := "  - name: b\n    hosts: [a.example]\n    keys: [AAAAAAAA]\n    nodes: [{name: n1, auction: \"10.0.0.1:80\", manage: \"10.0.0.1:81\"}]\n"
	for _, c := range []struct{ old, with, want string }{
		{`":80"`, `"10.0.0.1 ssl:80"`, "auction_listen: want :PORT or IP:PORT"},
		{`":80"`, `":80; include x"`, "auction_listen: want HOST:PORT with a port"},
		{`":81"`, `":80"`, "manage_listen: the same listen address as auction_listen"},
		{`":81"`, `":0"`, "manage_listen: want HOST:PORT with a port"},
		{`":81"`, `":081"`, "manage_listen: want HOST:PORT with a port"},
		{"default: a", "default: b", "default: want the name of a cell"},
		{"default: a", "default: a\ncertificate: 'x y.pem'", "certificate: want an absolute path"},
		{"default: a", "default: a\ncertificate: '/etc/../x'", "certificate: want an absolute path"},
		{"default: a", "fallback: a", `unknown field "fallback"`},
		{"name: a", "name: 'a b'", "cells[0].name: want a lower-case letter"},
		{"a.example", "'a.example;'", "cells[0].hosts[0]: want a host name"},
		{"a.example", `"a.example\nserver x"`, "cells[0].hosts[0]: want a host name"},
		{"a.example", strings.Repeat("abcdefghi.", 26) + "x", "cells[0].hosts[0]: 261 characters, want at most 253"},
		{"AAAAAAAA", "gavel_auc_AAAAAAAA_SECRET", "cells[0].keys[0]: want the 8 letters and digits"},
		{"AAAAAAAA", "AAAAAAAA, AAAAAAAA", "cells[0].keys[1]: the same key id as cells[0].keys[0]"},
		{"name: n1", "name: 'n1 SECRET'", "cells[0].nodes[0].name: want the id of the node"},
		{`"10.0.0.1:80"`, `"10.0.0.1:80 SECRET"`, "cells[0].nodes[0].auction: want HOST:PORT"},
		{`"10.0.0.1:80"`, `"[10.0.0.1]:80"`, "cells[0].nodes[0].auction: want HOST:PORT"},
		{`"10.0.0.1:81"`, `"10.0.0.2:81"`, "cells[0].nodes[0].manage: want the host of auction"},
		{`"10.0.0.1:81"`, `"10.0.0.1:80"`, "cells[0].nodes[0].manage: the same address as cells[0].nodes[0].auction"},
		{"    nodes: [{", "    nodes: []\n    x: [{", `unknown field "x"`},
		{"cells:\n", "cells:\n" + second, "cells[1].hosts[0]: the same host name as cells[0].hosts[0]"},
		{"cells:\n", "cells:\n" + second, "cells[1].keys[0]: the same key id as cells[0].keys[0]"},
		{"cells:\n", "cells:\n" + second, "cells[1].nodes[0].auction: the same address as cells[0].nodes[0].auction"},
		{"cells:\n", "cells:\n  - name: c\n    nodes: []\n", "cells[0]: want hosts or keys"},
		{"cells:\n", "cells:\n  - name: c\n    nodes: []\n", "cells[0].nodes: want at least one node"},
		{valid, "", "cells: want at least one cell"},
		{valid, strings.Repeat("#", fileMax+1), "the file is larger than 1 MiB"},
	} {
		text := strings.Replace(valid, c.old, c.with, 1)
		_, err := Read([]byte(text))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%.60q instead of %q: %v, want %s", c.with, c.old, err, c.want)
		}
	}
}

// A list that is longer than its bound is refused.
func TestBounds(t *testing.T) {
	f := &File{AuctionListen: ":80", ManageListen: ":81", Cells: make([]Cell, cellsMax+1)}
	f.Cells[0] = Cell{Hosts: make([]string, hostsMax+1), Keys: make([]string, keysMax+1), Nodes: make([]Node, nodesMax+1)}
	err := f.check().Error()
	for _, want := range []string{
		"cells: 65 entries, want at most 64", "cells[0].hosts: 1001 entries, want at most 1000",
		"cells[0].keys: 10001 entries, want at most 10000", "cells[0].nodes: 33 entries, want at most 32",
	} {
		if !strings.Contains(err, want+"\n") {
			t.Errorf("%q is not reported", want)
		}
	}
}
