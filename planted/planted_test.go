package planted_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/internal/sources"
)

// A patch plants one bug. Its head says what the bug is (Bug:), which promise it breaks (Breaks:), and which tests must catch
// it (Test: package and test, the fastest first).
type patch struct {
	name    string
	file    string
	tests   [][2]string
	changed []string // Files, seen from the root.
}

func patches(t *testing.T) (all []patch) {
	t.Helper()
	files, err := filepath.Glob("*.patch")
	if err != nil || len(files) == 0 {
		t.Fatal("no patches", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		file, err = filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		p := patch{name: strings.TrimSuffix(filepath.Base(file), ".patch"), file: file}
		head, diff, _ := strings.Cut(string(text), "diff --git")
		for line := range strings.Lines(head) {
			if test, found := strings.CutPrefix(line, "Test: "); found {
				room, name, _ := strings.Cut(strings.TrimSpace(test), " ")
				p.tests = append(p.tests, [2]string{room, name})
			}
		}
		for line := range strings.Lines(diff) {
			if name, found := strings.CutPrefix(line, "--- a/"); found {
				p.changed = append(p.changed, strings.TrimSpace(name))
			}
		}
		if !strings.Contains(head, "Bug: ") || !strings.Contains(head, "Breaks: ") || len(p.tests) == 0 || len(p.changed) == 0 {
			t.Errorf("%s does not say what it is", file)
		}
		all = append(all, p)
	}
	return all
}

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Patches rot when the code around them changes; this says so at once. What they change is read by git.
func TestPatchesApply(t *testing.T) {
	for _, p := range patches(t) {
		for _, name := range p.changed {
			sources.File(t, filepath.Join(root(t), name))
		}
		cmd := exec.CommandContext(t.Context(), "git", "apply", "-C1", "--check", p.file)
		cmd.Dir = root(t)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s does not apply any more: %s", p.name, out)
		}
	}
}

const (
	// testLimit bounds one test on a planted bug: a bug may also let it wait for ever.
	testLimit = 2 * time.Minute
	// simulated is what a simulation may take to find a bug, in minutes.
	simulated = "30"
	// rotation is how many days it takes until every patch was planted once. BOUND: make test-all has some minutes for them.
	rotation = 6
)

// TestPlanted applies each patch to a copy of the tree and runs the tests that must catch it, as many patches at a time
// as there are processors. PLANTED names one patch, or is "all", or "today": one in six patches, others every day.
func TestPlanted(t *testing.T) {
	which := os.Getenv("PLANTED")
	if which == "" {
		t.Skip("takes some minutes; make planted runs it")
	}
	today := int(time.Now().Unix() / (24 * 60 * 60) % rotation)
	for i, p := range patches(t) {
		if which != "all" && which != p.name && (which != "today" || i%rotation != today) {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			tree := t.TempDir()
			run(t, root(t), "sh", "-c", `git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$0"`, tree)
			run(t, tree, "git", "apply", "-C1", p.file)
			began := time.Now()
			for _, test := range p.tests {
				if how, failed := fails(t, tree, test); failed {
					sound(t, test)
					t.Logf("caught by %s %s, %.0f s: %s", test[0], test[1], time.Since(began).Seconds(), how)
					return
				}
			}
			t.Errorf("NOT CAUGHT by %v, %.0f s", p.tests, time.Since(began).Seconds())
		})
	}
}

// sounds holds the tests that passed without a bug, and what they said then.
var sounds sync.Map // [2]string: *soundness

type soundness struct {
	once sync.Once
	said map[string]bool // Places in the source.
	err  string
}

// sound makes sure that a test passes without a bug: one that fails anyway catches nothing. It returns the places that write something
// also then. Each test runs once.
func sound(t *testing.T, test [2]string) map[string]bool {
	t.Helper()
	known, _ := sounds.LoadOrStore(test, &soundness{})
	s := known.(*soundness)
	s.once.Do(func() {
		s.said = map[string]bool{}
		out, err := goTest(t, root(t), test)
		if err != nil {
			s.err = fmt.Sprintf("%v: %s", err, out[max(0, len(out)-2_000):])
		}
		for _, place := range complaint.FindAll(out, -1) {
			s.said[string(place)] = true
		}
	})
	if s.err != "" {
		t.Fatalf("%s %s does not pass without a bug either: %s", test[0], test[1], s.err)
	}
	return s.said
}

// goTest runs one test in a tree. Paths are trimmed, so that the copies share what was compiled.
func goTest(t *testing.T, tree string, test [2]string) (out []byte, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testLimit+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-v", "-trimpath", "-vet=off", "-count=1", "-timeout", testLimit.String(), "-run", "^"+test[1]+"$", test[0])
	cmd.Dir, cmd.WaitDelay = tree, 10*time.Second
	cmd.Env = append(os.Environ(), "GAVEL_SIM_MINUTES="+simulated)
	out, err = cmd.CombinedOutput()
	return out, errors.Join(err, ctx.Err())
}

// run runs a command that must succeed. Git must not take the copy for a part of a repository around it.
func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// complaint is a line that a test wrote, or that it panicked.
var complaint = regexp.MustCompile(`\w+_test\.go:\d+: |^panic: `)

// fails reports whether a test fails, and what it said. A tree that does not build catches nothing.
//
// A test that said something, which it does not say without the bug, and had to be ended after testLimit has failed too: a bubble
// whose test gave up goes on, because its nodes live.
func fails(t *testing.T, tree string, test [2]string) (how string, failed bool) {
	t.Helper()
	out, err := goTest(t, tree, test)
	if bytes.Contains(out, []byte("[build failed]")) || bytes.Contains(out, []byte("[setup failed]")) || bytes.Contains(out, []byte("no tests to run")) {
		t.Fatalf("%s", out)
	}
	said, _, late := strings.Cut(string(out), "panic: test timed out")
	late = late || errors.Is(err, context.DeadlineExceeded)
	usual := map[string]bool{}
	if late {
		usual = sound(t, test)
	}
	how = "nothing"
	for line := range strings.Lines(said) {
		if line = strings.TrimSpace(line); complaint.MatchString(line) && !usual[complaint.FindString(line)] {
			how = line[:min(len(line), 160)]
			if !late {
				break
			}
		}
	}
	if late {
		return how + " (and then it did not end)", how != "nothing"
	}
	return how, err != nil
}
