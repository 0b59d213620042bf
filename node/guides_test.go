package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/nodetest"
	"github.com/gavel-ads/gavel/node/operator"
)

// guideTimeout ends a guide whose commands wait for something that does not come.
const guideTimeout = 3 * time.Minute

// TestGuides runs the guides as their readers do: the files that they show are written, their sh blocks run one after the other
// in one shell, and what a json or text block shows is compared with the output of the sh block before it. A guide that
// continues the first one runs in its shell. The addresses are replaced by free ones. With -v it prints the transcripts.
func TestGuides(t *testing.T) {
	for _, program := range []string{"bash", "curl", "sed", "grep", "date", "find"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	guides := operator.Guides()
	for _, g := range guides {
		t.Run(g.Name, func(t *testing.T) {
			if testing.Short() && g.Name != guides[0].Name {
				t.Skip("make test-all runs this guide")
			}
			var before []guideBlock
			if strings.Contains(g.Text, "Continues [First hour](first-hour.md), in its terminal") {
				before = guideBlocks(guides[0].Text)
			}
			newGuideRun(t).run(before, guideBlocks(g.Text))
		})
	}
}

// guideBlock is a fenced block: its language, for a file its name, and its text.
type guideBlock struct{ language, file, text string }

func guideBlocks(document string) (all []guideBlock) {
	for i, part := range strings.Split("\n"+document, "\n```") { // Every second part is between fences.
		if i%2 == 1 {
			head, text, _ := strings.Cut(part, "\n")
			language, file, _ := strings.Cut(head, " ")
			all = append(all, guideBlock{language, file, text + "\n"})
		}
	}
	return all
}

// guideRun is the shell of one guide.
type guideRun struct {
	*testing.T
	dir       string
	addresses map[string]string // Those of the guide, and what replaces them.
}

func newGuideRun(t *testing.T) *guideRun {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(nodetest.Binary(t), filepath.Join(dir, "bin", "gavel")); err != nil {
		t.Fatal(err)
	}
	return &guideRun{T: t, dir: filepath.Join(dir, "shell"), addresses: map[string]string{}}
}

var guideAddress = regexp.MustCompile(`127\.0\.0\.1:[0-9]+`)

// replaced returns a text with free addresses. A node without addresses gets them as flags, in place of the defaults.
func (r *guideRun) replaced(text string) string {
	text = strings.ReplaceAll(text, "gavel serve --data-dir",
		"gavel serve --auction-listen 127.0.0.1:8080 --manage-listen 127.0.0.1:8081 --peer-listen 127.0.0.1:7400 --data-dir")
	return guideAddress.ReplaceAllStringFunc(text, func(address string) string {
		if r.addresses[address] == "" {
			r.addresses[address] = freeGuideAddress(r.T)
		}
		return r.addresses[address]
	})
}

// run runs the blocks of the first guide and of this one, and compares the answers of this one.
func (r *guideRun) run(before, own []guideBlock) {
	r.Helper()
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		r.Fatal(err)
	}
	var script strings.Builder
	script.WriteString("set -e\nshopt -s inherit_errexit\ntrap 'kill -KILL $(jobs -p) 2>/dev/null || true; wait || true' EXIT\n")
	for _, b := range before {
		if b.language == "sh" {
			script.WriteString(b.text)
		}
	}
	runs := make([]bool, len(own))
	for i, b := range own {
		switch {
		case b.file != "":
			if err := os.WriteFile(filepath.Join(r.dir, b.file), []byte(r.replaced(b.text)), 0o600); err != nil {
				r.Fatal(err)
			}
		case b.language == "sh" && r.canRun(b.text):
			runs[i] = true
			fmt.Fprintf(&script, "printf '\\n\\036%d\\n'\n%s", i, b.text)
		}
	}
	outputs := r.shell(r.replaced(script.String()))
	for i, b := range own {
		if runs[i] {
			r.Logf("transcript:\n%s%s", prompted(b.text), outputs[i])
		}
		if i > 0 && runs[i-1] {
			r.compare(b, own[i-1].text, outputs[i-1])
		}
	}
}

// prompted returns commands as a terminal shows them.
func prompted(commands string) string {
	return "$ " + strings.ReplaceAll(strings.TrimSuffix(commands, "\n"), "\n", "\n> ") + "\n"
}

// canRun reports whether the program that a block calls is there. If not, a test that is skipped says so.
func (r *guideRun) canRun(block string) (yes bool) {
	program, _, _ := strings.Cut(block, " ")
	if program != "node" && program != "go" {
		return true
	}
	r.Run(strings.TrimSpace(block), func(t *testing.T) {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
		if program == "node" {
			needNodeJS(t)
			linkClients(t, r.dir)
		}
		yes = true
	})
	return yes
}

// linkClients makes the published clients visible to scripts in dir, and skips the test where they are not installed.
func linkClients(t *testing.T, dir string) {
	t.Helper()
	if os.Getenv("GAVEL_COMPAT") == "1" {
		installClients(t)
	}
	modules, err := filepath.Abs(filepath.Join(clients, "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(modules, "@topsort", "sdk")); err != nil {
		t.Skip("the published clients are not installed; make compat installs them")
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil && !errors.Is(err, os.ErrExist) {
		t.Fatal(err)
	}
}

// shell runs a script and returns what each block printed. The nodes that it starts end with it.
func (r *guideRun) shell(script string) map[int]string {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), guideTimeout)
	defer cancel()
	var out, errs bytes.Buffer
	command := exec.CommandContext(ctx, "bash", "-c", script)
	command.Dir, command.Stdout, command.Stderr = r.dir, &out, &errs
	command.Env = []string{
		"PATH=" + filepath.Join(filepath.Dir(r.dir), "bin") + ":" + os.Getenv("PATH"),
		"GAVEL_MANAGE=http://" + r.replaced("127.0.0.1:8081"), "GAVEL_DRAIN_DELAY=0s",
	}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GAVEL_") && !strings.HasPrefix(v, "PATH=") {
			command.Env = append(command.Env, v)
		}
	}
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	if err := command.Run(); err != nil {
		r.Fatalf("the commands failed: %v\n%s\n%s\n%s", err, script, &out, &errs)
	}
	outputs := map[int]string{}
	for part := range strings.SplitSeq(out.String(), "\n\x1e") {
		number, text, _ := strings.Cut(part, "\n")
		if n, err := strconv.Atoi(number); err == nil {
			outputs[n] = text
		}
	}
	return outputs
}

// compare checks that what a block shows is part of what the commands before it printed.
func (r *guideRun) compare(shown guideBlock, commands, printed string) {
	r.Helper()
	switch shown.language {
	case "json":
		got, err := lastJSON(printed)
		if err != nil {
			r.Errorf("%sprinted no JSON: %v\n%s", commands, err, printed)
			return
		}
		var want any
		if err := json.Unmarshal([]byte(shown.text), &want); err != nil {
			r.Errorf("the shown answer is no JSON: %v\n%s", err, shown.text)
		} else if !contains(got, want) {
			r.Errorf("%sprinted\n%swhich lacks something of\n%s", commands, printed, shown.text)
		}
	case "text":
		if line := missingLine(printed, shown.text); line != "" {
			r.Errorf("%sprinted\n%swithout the line %q in its place", commands, printed, line)
		}
	}
}

// missingLine returns the first of the shown lines that was not printed behind those before it; … stands for any text.
func missingLine(printed, shown string) string {
	lines := strings.Split(printed, "\n")
	for want := range strings.SplitSeq(strings.TrimSpace(shown), "\n") {
		pattern := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*") + "$")
		at := slices.IndexFunc(lines, pattern.MatchString)
		if at < 0 {
			return want
		}
		lines = lines[at+1:]
	}
	return ""
}

// lastJSON decodes the last value of the last line that begins as an object.
func lastJSON(printed string) (value any, err error) {
	line := ""
	for l := range strings.Lines(printed) {
		if strings.HasPrefix(l, "{") {
			line = l
		}
	}
	decoder := json.NewDecoder(strings.NewReader(line))
	err = errors.New("no line begins with a brace")
	for decoder.More() {
		var next any
		if err = decoder.Decode(&next); err != nil {
			return nil, err
		}
		value = next
	}
	return value, err
}

// contains reports whether got has all that want has. Arrays have the same length; the text … stands for any.
func contains(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		for name := range want {
			ok = ok && contains(object[name], want[name])
		}
		return ok
	case []any:
		array, ok := got.([]any)
		ok = ok && len(array) == len(want)
		for i := range want {
			ok = ok && contains(array[i], want[i])
		}
		return ok
	case string:
		text, ok := got.(string)
		return ok && (text == want || want == "…" && text != "")
	}
	return got == want
}

// The comparison finds a shown member that is missing or differs, and a line that is not printed, or not in its place.
func TestShownAnswersAreCompared(t *testing.T) {
	const printed = "text\n{}{\"a\":1,\"b\":[{\"c\":\"d\",\"e\":2}],\"f\":\"\"}\n"
	got, err := lastJSON(printed)
	if err != nil {
		t.Fatal(err)
	}
	for shown, want := range map[string]bool{
		`{}`: true, `{"a":1}`: true, `{"b":[{"c":"…"}]}`: true, `{"b":[{"e":2}],"a":1}`: true,
		`{"a":2}`: false, `{"b":[]}`: false, `{"b":[{"c":"x"}]}`: false, `{"x":null,"f":"…"}`: false, `[]`: false,
	} {
		var value any
		if err := json.Unmarshal([]byte(shown), &value); err != nil {
			t.Fatal(err)
		}
		if contains(got, value) != want {
			t.Errorf("%s contains %s: %t", printed, shown, !want)
		}
	}
	for _, text := range []string{"", "text\n", "{\"a\":"} {
		if value, err := lastJSON(text); err == nil {
			t.Errorf("%q is %v", text, value)
		}
	}
	for shown, want := range map[string]bool{"one": true, "…n…\nthree": true, "on": false, "two\none": false, "three\nthree": false} {
		if (missingLine("one\ntwo\nthree\n", shown) == "") != want {
			t.Errorf("%q is accepted: %t", shown, !want)
		}
	}
}

// freeGuideAddress returns an address on which nothing listens.
func freeGuideAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close() // A node binds it.
	return l.Addr().String()
}
