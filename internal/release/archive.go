package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// archivedFile is a file of an archive: its name there, and where it is now.
type archivedFile struct{ name, source string }

// archived lists what an archive holds, in order: the binary, the documents, and the example configurations.
func archived(binary, pages string) ([]archivedFile, error) {
	files := []archivedFile{
		{"gavel", binary},
		{"LICENSE", "LICENSE"},
		{"README.md", "README.md"},
		{"CHANGELOG.md", "CHANGELOG.md"},
		{"RUNBOOK.md", filepath.Join("node", "operator", "RUNBOOK.md")},
	}
	for prefix, dir := range map[string]string{"share/": pages, "configs/": "configs"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			rest, err := filepath.Rel(dir, path)
			files = append(files, archivedFile{prefix + filepath.ToSlash(rest), path})
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(files[1:], func(a, b archivedFile) int { return strings.Compare(a.name, b.name) })
	return files, nil
}

// writeArchive writes a .tar.gz of files below the directory base. Owner, mode and time do not depend on this machine.
func writeArchive(file, base string, files []archivedFile, at time.Time) error {
	var b bytes.Buffer
	zip, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(zip)
	for _, f := range files {
		text, err := os.ReadFile(f.source)
		if err != nil {
			return err
		}
		mode := int64(0o644)
		if f.name == "gavel" || strings.HasSuffix(f.name, ".sh") {
			mode = 0o755
		}
		head := &tar.Header{Name: base + "/" + f.name, Mode: mode, Size: int64(len(text)), ModTime: at, Format: tar.FormatPAX}
		if err := w.WriteHeader(head); err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	return write(file, b.Bytes())
}

// checksums writes checksums.txt in the form that sha256sum -c reads.
func (r *release) checksums() error {
	names, err := r.published()
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(text), name)
	}
	return write(filepath.Join(r.out, "checksums.txt"), []byte(b.String()))
}
