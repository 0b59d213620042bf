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

// A patch plants one bug. Its head describes the bug (Bug:), names the promise that it breaks (Breaks:), and lists the tests
// that must catch it (Test: package and test, the fastest first).
type patch struct {
	name    string
	file    string
	tests   [][2]string // Package and name of each test.
	changed []string    // The files that the patch changes, relative to the root of the repository.
}

// patches reads all patches of this directory. A patch whose head is incomplete fails the test.
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
				pkg, name, _ := strings.Cut(strings.TrimSpace(test), " ")
				p.tests = append(p.tests, [2]string{pkg, name})
			}
		}
		for line := range strings.Lines(diff) {
			if name, found := strings.CutPrefix(line, "--- a/"); found {
				p.changed = append(p.changed, strings.TrimSpace(name))
			}
		}
		if !strings.Contains(head, "Bug: ") || !strings.Contains(head, "Breaks: ") || len(p.tests) == 0 || len(p.changed) == 0 {
			t.Errorf("%s: the head has no Bug:, no Breaks: or no Test: line, or the patch changes no file", file)
		}
		all = append(all, p)
	}
	return all
}

// chosen returns the patches that PLANTED names: one, with "all" every patch, or with "today" one in six, others every day. It
// skips the test when PLANTED is not set, so that a plain go test ./... does not fail when code that a patch quotes is moved.
func chosen(t *testing.T) (some []patch) {
	t.Helper()
	which := os.Getenv("PLANTED")
	if which == "" {
		t.Skip("runs only when PLANTED is set; use make planted, or PLANTED=name for one patch")
	}
	today := int(time.Now().Unix() / (24 * 60 * 60) % rotation)
	for i, p := range patches(t) {
		if which == "all" || which == p.name || which == "today" && i%rotation == today {
			some = append(some, p)
		}
	}
	if len(some) == 0 {
		t.Fatalf("PLANTED=%s: there is no patch of that name", which)
	}
	return some
}

// root returns the root of the repository.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// A patch stops applying when the code that it quotes changes. This test finds that in seconds, without building anything. Git
// reads the changed files in its own process; sources.File opens them here as well, so that the test cache sees changes of them.
func TestPatchesApply(t *testing.T) {
	for _, p := range chosen(t) {
		for _, name := range p.changed {
			sources.File(t, filepath.Join(root(t), name))
		}
		cmd := exec.CommandContext(t.Context(), "git", "apply", "-C1", "--check", p.file)
		cmd.Dir = root(t)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s does not apply; mend the patch: %s", p.name, out)
		}
	}
}

const (
	// testLimit bounds one test on a planted bug, because a bug may also make the test wait forever.
	testLimit = 3 * time.Minute
	// baselineLimit bounds it without the bug, when it has to end: on a busy machine that takes longer than to find a bug.
	baselineLimit = 10 * time.Minute
	// simulationMinutes is how many minutes a simulation simulates to find a bug.
	simulationMinutes = "30"
	// rotation is how many days it takes until every patch was planted once. BOUND: make test-all has some minutes for them.
	rotation = 6
)

// TestPlanted applies each patch to a copy of the tree and runs the tests that must catch it, as many patches at a time
// as there are processors. The environment variable PLANTED names one patch, or is "all", or "today". All patches take some minutes.
func TestPlanted(t *testing.T) {
	for _, p := range chosen(t) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			tree := t.TempDir()
			run(t, root(t), "sh", "-c", `git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$0"`, tree)
			run(t, tree, "git", "apply", "-C1", p.file)
			began := time.Now()
			for _, test := range p.tests {
				if how, failed := fails(t, tree, test); failed {
					runBaseline(t, test)
					t.Logf("caught by %s %s, %.0f s: %s", test[0], test[1], time.Since(began).Seconds(), how)
					return
				}
			}
			t.Errorf("NOT CAUGHT by %v, %.0f s", p.tests, time.Since(began).Seconds())
		})
	}
}

// baselineRuns holds the run of each test on the tree without a bug.
var baselineRuns sync.Map // Keys are [2]string (package and test), values *baselineRun.

// baselineRun is the run of one test on the tree without a bug.
type baselineRun struct {
	once   sync.Once
	places map[string]bool // The places in the source (file:line) that wrote output in this run.
	err    string          // How the test failed; empty when it passed.
}

// runBaseline runs a test on the tree without a bug, once for all callers, and fails t when it does not pass: a test that fails
// anyway catches nothing. It returns the places in the source that write output in that run.
func runBaseline(t *testing.T, test [2]string) map[string]bool {
	t.Helper()
	known, _ := baselineRuns.LoadOrStore(test, &baselineRun{})
	s := known.(*baselineRun)
	s.once.Do(func() {
		s.places = map[string]bool{}
		out, err := goTest(t, root(t), test, baselineLimit)
		if err != nil {
			s.err = fmt.Sprintf("%v: %s", err, out[max(0, len(out)-2_000):])
		}
		for _, place := range outputLine.FindAll(out, -1) {
			s.places[string(place)] = true
		}
	})
	if s.err != "" {
		t.Fatalf("%s %s does not pass without a bug either: %s", test[0], test[1], s.err)
	}
	return s.places
}

// goTest runs one test in a tree, without vet. Paths are trimmed, so that all copies of the tree share compiled packages, and without
// cgo they share those of dependencies with make build, too.
func goTest(t *testing.T, tree string, test [2]string, limit time.Duration) (out []byte, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-v", "-trimpath", "-vet=off", "-count=1", "-timeout", limit.String(), "-run", "^"+test[1]+"$", test[0])
	cmd.Dir, cmd.WaitDelay = tree, 10*time.Second
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GAVEL_SIM_MINUTES="+simulationMinutes)
	out, err = cmd.CombinedOutput()
	return out, errors.Join(err, ctx.Err())
}

// run runs a command that must succeed. GIT_CEILING_DIRECTORIES keeps git from using a repository that the copy lies in.
func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// outputLine matches the beginning of a line that a test wrote, or of a panic.
var outputLine = regexp.MustCompile(`\w+_test\.go:\d+: |^panic: `)

// fails reports whether a test fails, and its first output that is not usual. A tree that does not build ends t, because it
// catches nothing.
//
// A test that reaches testLimit counts as failed only when it wrote a line that it does not write without the bug: a synctest
// bubble goes on after its test has failed as long as its nodes run.
func fails(t *testing.T, tree string, test [2]string) (how string, failed bool) {
	t.Helper()
	out, err := goTest(t, tree, test, testLimit)
	if bytes.Contains(out, []byte("[build failed]")) || bytes.Contains(out, []byte("[setup failed]")) || bytes.Contains(out, []byte("no tests to run")) {
		t.Fatalf("%s", out)
	}
	said, _, late := strings.Cut(string(out), "panic: test timed out")
	late = late || errors.Is(err, context.DeadlineExceeded)
	usual := map[string]bool{}
	if late {
		usual = runBaseline(t, test)
	}
	how = "nothing"
	for line := range strings.Lines(said) {
		if line = strings.TrimSpace(line); outputLine.MatchString(line) && !usual[outputLine.FindString(line)] {
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
