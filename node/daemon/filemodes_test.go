//go:build unix

package daemon

import (
	"bytes"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A data directory that cannot be written is named, with what to do, before anything else is said about it.
func TestAnUnwritableDirectoryIsNamed(t *testing.T) {
	cfg := testConfig(t.TempDir(), 1)
	if err := os.WriteFile(cfg.DataDir, nil, 0o600); err != nil { // A file in its place: root could write into any directory.
		t.Fatal(err)
	}
	cfg.DataDir = filepath.Join(cfg.DataDir, "deeper")
	err := Run(t.Context(), cfg, Options{Out: io.Discard})
	if err == nil || !strings.HasPrefix(err.Error(), "the directory "+cfg.DataDir+" cannot be written: ") || !strings.Contains(err.Error(), "--data-dir") {
		t.Errorf("%v", err)
	}
}

// TestModesAreRestricted: wider modes become those of the owner alone, narrower ones stay, links are not followed, and
// the change is logged once.
func TestModesAreRestricted(t *testing.T) {
	outside := t.TempDir()
	dir := filepath.Join(outside, "data")
	for _, step := range []error{
		os.MkdirAll(filepath.Join(dir, "log", "deep"), 0o700), os.WriteFile(filepath.Join(dir, "log", "000001.log"), nil, 0o600),
		os.WriteFile(filepath.Join(dir, "locked"), nil, 0o400), os.WriteFile(filepath.Join(outside, "file"), nil, 0o600),
		os.Symlink(filepath.Join(outside, "file"), filepath.Join(dir, "link")),
		os.Chmod(filepath.Join(dir, "log"), 0o755), os.Chmod(filepath.Join(dir, "log", "deep"), 0o711), os.Chmod(dir, 0o750),
		os.Chmod(filepath.Join(dir, "log", "000001.log"), 0o644), os.Chmod(filepath.Join(outside, "file"), 0o666),
	} {
		if step != nil {
			t.Fatal(step)
		}
	}
	var b bytes.Buffer
	log := slog.New(slog.NewTextHandler(&b, nil))
	for range 2 {
		if err := restrictModes(dir, log); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]fs.FileMode{
		"data": 0o700, "data/log": 0o700, "data/log/deep": 0o700, "data/log/000001.log": 0o600, "data/locked": 0o400, "file": 0o666,
	} {
		if info, err := os.Stat(filepath.Join(outside, path)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", path, info.Mode().Perm(), err, want)
		}
	}
	if strings.Count(b.String(), "file_modes_restricted") != 1 || !strings.Contains(b.String(), "paths=4") || !strings.Contains(b.String(), "-rwxr-x---") {
		t.Errorf("logged: %s", b.String())
	}
	made := filepath.Join(outside, "new", "data")
	if err := restrictModes(made, log); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(made); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("a new directory: %v, %v", info, err)
	}
}
