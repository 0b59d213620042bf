package lint

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// forbiddenText is a pattern that no tracked file may contain.
type forbiddenText struct {
	rule string
	// only are the parts of which a line with a match has one, in lower case. Looking for them first makes the check ten times as fast.
	only []string
	what *regexp.Regexp
	why  string
	skip func(file string) bool
}

// The patterns are concatenated from parts, so that this file does not match them.
var forbiddenTexts = []forbiddenText{
	{
		rule: "open end", only: []string{"to" + "do", "fix" + "me", "xx" + "x"},
		what: regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b[^(]|\b(TO` + `DO|FIX` + `ME|XX` + `X)$`),
		why:  "finish it, or write the reason in brackets behind the word",
	},
	{
		rule: "registry", only: []string{"registry.", "golang.org", "goproxy.", "pythonhosted.", "pypi.", "static.crates", "rubygems."},
		what: regexp.MustCompile(`(?i)\b(registry\.(npmjs|yarnpkg|npmmirror)\.|` +
			`(proxy|sum)\.golang\.org|goproxy\.(io|cn)|(files\.)?pythonhosted\.org|pypi\.org|static\.crates\.io|rubygems\.org)`),
		why: "a build takes its registry from the machine it runs on",
	},
	{
		rule: "registry", only: []string{`"resolved"`}, what: regexp.MustCompile(`"resolved"\s*:\s*"`),
		why:  "lock files name versions and hashes, not where they came from",
		skip: func(file string) bool { return filepath.Base(file) != "package-lock.json" },
	},
	{
		rule: "machine path", only: []string{"/wo" + "rk/", "/ro" + "ot/", "/home/"},
		what: regexp.MustCompile(`(^|[^A-Za-z0-9_.)}/])/(wo` + `rk|root|home/[a-z]+)/`), why: "this path exists on one machine only",
	},
}

// Text checks every tracked file of the repository at root for forbidden patterns.
func Text(root string) ([]Finding, error) {
	files, err := tracked(root)
	if err != nil {
		return nil, err
	}
	var found []Finding
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			continue // Deleted and not committed yet.
		}
		if err != nil {
			return nil, err
		}
		if !bytes.Contains(text[:min(len(text), 8<<10)], []byte{0}) { // Binary files are skipped.
			found = append(found, checkText(name, text)...)
		}
	}
	return found, nil
}

func checkText(name string, text []byte) []Finding {
	var found []Finding
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 64<<20)
	for n := 1; lines.Scan(); n++ {
		lower := bytes.ToLower(lines.Bytes())
		for _, f := range forbiddenTexts {
			if f.skip != nil && f.skip(name) {
				continue
			}
			has := func(part string) bool { return bytes.Contains(lower, []byte(part)) }
			if !slices.ContainsFunc(f.only, has) {
				continue
			}
			if hit := f.what.Find(lines.Bytes()); hit != nil {
				found = append(found, Finding{fmt.Sprintf("%s:%d", name, n), f.rule, fmt.Sprintf("%q: %s", hit, f.why)})
			}
		}
	}
	return found
}

// tracked returns the files that git tracks. Outside of a checkout, such as in an unpacked archive, those are all
// files.
func tracked(root string) ([]string, error) {
	cmd := exec.Command("git", "-C", root, "-c", "safe.directory=*", "ls-files", "-z")
	if out, err := cmd.Output(); err == nil {
		return strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }), nil
	}
	var files []string
	err := filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == "bin") {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() {
			rel, err := filepath.Rel(root, p)
			files = append(files, rel)
			return err
		}
		return nil
	})
	return files, err
}

// pins are versions that stay until the changes of a newer one were read: they decide HTTP framing, the replicated log,
// the disk format, and a library whose next release fasthttp's version does not support.
var pins = map[string]string{
	"github.com/valyala/fasthttp":      "v1.74.0",
	"github.com/hashicorp/raft":        "v1.8.0",
	"github.com/cockroachdb/pebble/v2": "v2.1.7",
	"github.com/molecule-man/go-brrr":  "v1.0.1",
}

// Pins checks go.mod against the pins, and reports replace lines, which have no effect for modules that import this
// one.
func Pins(gomod []byte) []Finding {
	have := map[string]string{}
	var found []Finding
	for line := range strings.Lines(string(gomod)) {
		words := strings.Fields(strings.TrimPrefix(line, "require"))
		if len(words) >= 2 {
			have[words[0]] = words[1]
		}
		if len(words) > 0 && words[0] == "replace" {
			found = append(found, Finding{"go.mod", "pin", "a replace line: " + strings.TrimSpace(line)})
		}
	}
	for _, module := range slices.Sorted(maps.Keys(pins)) {
		if have[module] != pins[module] {
			found = append(found, Finding{"go.mod", "pin", fmt.Sprintf("%s is %q and stays at %s until its upgrade was read and tested", module, have[module], pins[module])})
		}
	}
	return found
}
