// Package durable reads and writes small files so that a crash or a power failure leaves them whole: the old content,
// the new one, or no file, but never a part. It also provides a file system on which Pebble's marker files are as safe.
package durable

import (
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// ReadFile returns the content of a file, or the error of the file system.
func ReadFile(fs vfs.FS, path string) ([]byte, error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	return b, errors.Join(err, f.Close())
}

// WriteFile makes the file name appear in dir complete or not at all, by way of a temporary file tmp in dir. When it
// returns nil the file survives a power failure, and so does dir itself. It returns the errors of the file system.
func WriteFile(fs vfs.FS, dir, tmp, name string, b []byte) error {
	tmp, name = fs.PathJoin(dir, tmp), fs.PathJoin(dir, name)
	f, err := fs.Create(tmp, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return errors.Join(fs.Rename(tmp, name), SyncDir(fs, dir), SyncDir(fs, fs.PathDir(dir)))
}

// SyncDir makes the names in a directory durable: files that were created, renamed or removed in it stay so after a
// power failure. It returns the errors of the file system.
func SyncDir(fs vfs.FS, path string) error {
	d, err := fs.OpenDir(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
