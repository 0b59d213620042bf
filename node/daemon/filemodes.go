package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
)

// Modes of what a node stores: charges, hashes of keys, the cluster's secrets and uploads of vendors are accessible to
// its user only. New files get these modes from the umask that the process sets at its start (node/cli).
const (
	privateDir  = fs.FileMode(0o700)
	privateFile = fs.FileMode(0o600)
)

// restrictDirectories creates the directories of the node, and restricts the modes of existing ones that are wider than
// privateDir and privateFile.
func (n *node) restrictDirectories(context.Context) error {
	dirs := []string{n.cfg.DataDir}
	if n.cfg.Blob.Driver == "local" && n.cfg.Blob.Dir != "" {
		dirs = append(dirs, n.cfg.Blob.Dir)
	}
	for _, dir := range dirs {
		if err := checkWritable(dir); err != nil {
			return err
		}
		if err := restrictModes(dir, n.log); err != nil {
			return fmt.Errorf("modes of %s: %w", dir, err)
		}
	}
	return nil
}

// checkWritable creates the directory when it is missing, and a file in it, which it deletes again. The error says what
// to do.
func checkWritable(dir string) error {
	err := os.MkdirAll(dir, privateDir)
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(dir, "write-test-"); err == nil {
			err = errors.Join(f.Close(), os.Remove(f.Name()))
		}
	}
	if err != nil {
		return fmt.Errorf("the directory %s cannot be written: %w; choose another with --data-dir, or make it writable for the user of "+
			"this process (id %d)", dir, err, os.Geteuid())
	}
	return nil
}

// restrictModes gives a directory and everything below it the modes of this file. It neither follows nor changes
// symbolic links. A path that belongs to another user, such as the root of a mounted disk, cannot be changed: that is
// logged and no error, because only the operator can change it.
func restrictModes(dir string, log *slog.Logger) error {
	if err := os.MkdirAll(dir, privateDir); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	narrowed, left, example, wide := 0, 0, "", fs.FileMode(0)
	err = fs.WalkDir(root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist):
			return nil // It belongs to another user, such as lost+found, or was deleted meanwhile.
		case err != nil:
			return err
		case e.Type()&fs.ModeSymlink != 0:
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return nil //nolint:nilerr // Deleted meanwhile.
		}
		want := privateFile
		if e.IsDir() {
			want = privateDir
		}
		if info.Mode().Perm()&^want == 0 {
			return nil
		}
		if example == "" {
			example, wide = path, info.Mode().Perm()
		}
		if err := root.Chmod(path, info.Mode().Perm()&want); err != nil {
			left++
			return nil //nolint:nilerr // Counted and logged.
		}
		narrowed++
		return nil
	})
	where := []any{slog.String("dir", dir), slog.String("example", example), slog.String("mode", wide.String())}
	if narrowed > 0 {
		log.Warn("file_modes_restricted", append(where, slog.Int("paths", narrowed))...)
	}
	if left > 0 {
		log.Error("file_modes_not_restricted", append(where, slog.Int("paths", left),
			slog.String("do", "chown these paths to the user of this process, or chmod them to 0700 and 0600"))...)
	}
	return errors.Join(err, root.Close())
}
