// Command release builds what a release consists of into a directory, for make release: for every target a static binary
// in an archive and its list of modules, .deb and .rpm for Linux, and the checksums of all of them.
//
// Two builds of one commit with one version of Go give the same bytes, on any machine: paths are trimmed, and every time
// is that of the commit.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// release is one build of a release.
type release struct {
	out     string    // Directory of the files to publish.
	work    string    // Directory of intermediate files, deleted at the end.
	version string    // For packages: digits first, without the v of a tag.
	name    string    // What gavel version prints.
	commit  string    // Full hash.
	at      time.Time // Time of the commit: the time of every file.
}

// target is an operating system and a processor architecture, in Go's names.
type target struct{ system, arch string }

func main() {
	out := flag.String("out", "dist", "directory to write to; it must be empty or missing")
	targets := flag.String("targets", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64", "what to build, comma-separated")
	packages := flag.Bool("packages", true, "build .deb and .rpm for Linux")
	flag.Parse()
	if err := run(*out, strings.Split(*targets, ","), *packages); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(out string, targets []string, packages bool) (err error) {
	if found, _ := os.ReadDir(out); len(found) > 0 { // A missing directory is created below.
		return fmt.Errorf("%s is not empty; delete it or choose another directory with -out", out)
	}
	r, err := describe(out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.work)) }()
	pages, err := r.documents()
	if err != nil {
		return err
	}
	for _, text := range targets {
		var t target
		var ok bool
		if t.system, t.arch, ok = strings.Cut(text, "/"); !ok {
			return fmt.Errorf("the target %q is not SYSTEM/ARCHITECTURE", text)
		}
		if err := r.build(t, pages, packages); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return r.checksums()
}

// tagged is a version that packages can have.
var tagged = regexp.MustCompile(`^v?([0-9]+\.[0-9]+\.[0-9]+.*)$`)

// describe reads the version from git and creates the directories.
func describe(out string) (*release, error) {
	work, err := os.MkdirTemp("", "gavel-release-")
	if err != nil {
		return nil, err
	}
	r := &release{out: out, work: work}
	if r.name, err = output("git", "describe", "--tags", "--always", "--dirty"); err != nil {
		return nil, err
	}
	if r.commit, err = output("git", "rev-parse", "HEAD"); err != nil {
		return nil, err
	}
	seconds, err := output("git", "log", "-1", "--format=%ct")
	if err != nil {
		return nil, err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, err
	}
	r.at = time.Unix(unix, 0).UTC()
	r.version = "0.0.0-" + seconds + ".g" + r.commit[:12] // Before the first tag, later commits are newer versions.
	if found := tagged.FindStringSubmatch(r.name); found != nil {
		r.version = found[1]
	}
	return r, os.MkdirAll(out, 0o755)
}

// documents writes the manual pages and completions, which are the same for all targets, and returns their directory.
func (r *release) documents() (string, error) {
	host := filepath.Join(r.work, "host", "gavel")
	if err := r.compile(target{}, host); err != nil {
		return "", err
	}
	pages := filepath.Join(r.work, "share")
	if _, err := output(host, "manual", filepath.Join(pages, "man")); err != nil {
		return "", err
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script, err := output(host, "completion", shell)
		if err == nil {
			err = write(filepath.Join(pages, "completions", "gavel."+shell), []byte(script+"\n"))
		}
		if err != nil {
			return "", err
		}
	}
	return pages, nil
}

// compile builds the binary of a target; the zero target is this machine.
func (r *release) compile(t target, file string) error {
	flags := fmt.Sprintf("-s -w -X github.com/gavel-ads/gavel/node/cli.version=%s -X github.com/gavel-ads/gavel/node/cli.commit=%s", r.name, r.commit)
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", flags, "-o", file, "./node")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if t.system != "" {
		cmd.Env = append(cmd.Env, "GOOS="+t.system, "GOARCH="+t.arch, "GOAMD64=v1", "GOARM64=v8.0")
	}
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// build makes all files of one target.
func (r *release) build(t target, pages string, packages bool) error {
	base := fmt.Sprintf("gavel_%s_%s_%s", r.version, t.system, t.arch)
	binary := filepath.Join(r.work, base, "gavel")
	if err := r.compile(t, binary); err != nil {
		return err
	}
	modules, err := output("go", "version", "-m", binary)
	if err != nil {
		return err
	}
	_, modules, _ = strings.Cut(modules, "\n") // The first line names the file.
	if err := write(filepath.Join(r.out, base+".modules.txt"), []byte(modules+"\n")); err != nil {
		return err
	}
	files, err := archived(binary, pages)
	if err != nil {
		return err
	}
	if err := writeArchive(filepath.Join(r.out, base+".tar.gz"), base, files, r.at); err != nil {
		return err
	}
	if t.system != "linux" || !packages {
		return nil
	}
	return r.pack(t, binary, pages)
}

// output runs a command and returns what it prints, without the line end.
func output(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimRight(string(text), "\n"), nil
}

// write writes a file and creates its directory.
func write(file string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}

// published returns the names of the files in the output directory, sorted.
func (r *release) published() ([]string, error) {
	found, err := os.ReadDir(r.out)
	var names []string
	for _, f := range found {
		names = append(names, f.Name())
	}
	slices.Sort(names)
	return names, err
}
