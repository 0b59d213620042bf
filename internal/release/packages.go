package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// pack writes the .deb and the .rpm of a target with nfpm, whose version .ci/release.mod pins.
func (r *release) pack(t target, binary, pages string) error {
	root := filepath.Join(r.work, "root-"+t.arch)
	if err := r.fillRoot(root, binary, pages); err != nil {
		return err
	}
	for _, format := range []string{"deb", "rpm"} {
		name := fmt.Sprintf("gavel_%s_%s_%s.%s", r.version, t.system, t.arch, format)
		cmd := exec.Command("go", "tool", "-modfile=.ci/release.mod", "nfpm", "package",
			"--config", "configs/packaging/nfpm.yml", "--packager", format, "--target", filepath.Join(r.out, name))
		cmd.Env = append(os.Environ(), "GAVEL_ARCH="+t.arch, "GAVEL_VERSION="+r.version, "GAVEL_ROOT="+root,
			fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.at.Unix()))
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("nfpm: %w\n%s", err, text)
		}
	}
	return nil
}

// fillRoot creates the files of a package in root.
func (r *release) fillRoot(root, binary, pages string) error {
	doc := "usr/share/doc/gavel/"
	files, err := archived(binary, pages)
	if err != nil {
		return err
	}
	files = append(files, archivedFile{"gavel.yaml", "configs/packaging/gavel.yaml"})
	for _, unit := range []string{"gavel.service", "gavel-backup.service", "gavel-backup.timer", "gavel-archive.service"} {
		files = append(files, archivedFile{unit, "configs/systemd/" + unit})
	}
	for _, f := range files {
		text, err := os.ReadFile(f.source)
		if err != nil {
			return err
		}
		name := doc + f.name
		switch {
		case f.name == "gavel":
			name = "usr/bin/gavel"
		case strings.HasPrefix(f.source, "configs/systemd/") && !strings.Contains(f.name, "/"):
			name = "usr/lib/systemd/system/" + f.name
		case f.name == "gavel.yaml":
			name = "etc/gavel/gavel.yaml"
		case f.name == "LICENSE":
			name = doc + "copyright"
		case strings.HasPrefix(f.name, "share/man/"):
			name = "usr/share/man/man1/" + filepath.Base(f.name) + ".gz"
			text = compressed(text)
		case f.name == "share/completions/gavel.bash":
			name = "usr/share/bash-completion/completions/gavel"
		case f.name == "share/completions/gavel.zsh":
			name = "usr/share/zsh/vendor-completions/_gavel"
		case f.name == "share/completions/gavel.fish":
			name = "usr/share/fish/vendor_completions.d/gavel.fish"
		}
		if err := write(filepath.Join(root, name), text); err != nil {
			return err
		}
	}
	if err := os.Chmod(filepath.Join(root, "usr/bin/gavel"), 0o755); err != nil { //nolint:gosec // It is a program.
		return err
	}
	return filepath.Walk(root, func(path string, _ os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		return os.Chtimes(path, r.at, r.at) //nolint:gosec // The directory is this process's own.
	})
}

// compressed returns a text as gzip writes it, without a name or a time.
func compressed(text []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(text) // Into memory.
	_ = w.Close()
	return b.Bytes()
}
