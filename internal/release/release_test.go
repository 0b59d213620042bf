package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Two archives of the same files are equal, whatever the times and modes of the files on this machine.
func TestArchivesDependOnContentsOnly(t *testing.T) {
	at := time.Unix(1_700_000_000, 0)
	made := func(mode os.FileMode, age time.Duration) []byte {
		dir := t.TempDir()
		source := filepath.Join(dir, "source")
		if err := os.WriteFile(source, []byte("text"), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(source, at.Add(-age), at.Add(-age)); err != nil {
			t.Fatal(err)
		}
		archive := filepath.Join(dir, "a.tar.gz")
		if err := writeArchive(archive, "gavel_1.2.3", []archivedFile{{"gavel", source}, {"LICENSE", source}}, at); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(archive)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if first, second := made(0o600, 0), made(0o644, time.Hour); len(first) == 0 || !bytes.Equal(first, second) {
		t.Errorf("two archives of the same contents differ: %d and %d bytes", len(first), len(second))
	}
}

// A release does not overwrite another one, and a wrong target is named.
func TestWrongCallsOfRelease(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "old"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(dir, []string{"linux/amd64"}, false); err == nil {
		t.Error("a directory that is not empty was accepted")
	}
}
