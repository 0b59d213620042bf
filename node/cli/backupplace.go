package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/gavel-ads/gavel/node/backups"
	"github.com/gavel-ads/gavel/node/config"
)

// backupPlace is where backups are stored: a directory, or a bucket of an S3 service (backups.Bucket).
type backupPlace interface {
	// Put stores what write writes, all of it or nothing, and verifies it by reading it back. It returns the error of write.
	Put(ctx context.Context, name string, write func(io.Writer) error) error
	// Open returns a backup and its size in bytes.
	Open(ctx context.Context, name string) (io.ReadCloser, int64, error)
	Exists(ctx context.Context, name string) (bool, error)
	Names(ctx context.Context) ([]string, error)
	Remove(ctx context.Context, name string) error
	// Path returns the place of a backup as the command line names it.
	Path(name string) string
}

// openBackupPlace opens a directory or the address of a bucket. settings is called for a bucket only.
func openBackupPlace(where string, settings func() (config.Blob, error)) (backupPlace, error) {
	if !backups.IsBucket(where) {
		return backupDir(where), nil
	}
	c, err := settings()
	if err != nil {
		return nil, err
	}
	if c.Endpoint == "" || c.AccessKey == "" || c.SecretKey == "" {
		return nil, usageError{errors.New("gavel: s3:// needs blob.endpoint, blob.access_key and blob.secret_key, as the configuration file or " +
			"GAVEL_BLOB_ENDPOINT, GAVEL_BLOB_ACCESS_KEY and GAVEL_BLOB_SECRET_KEY set them")}
	}
	bucket, err := backups.OpenBucket(where, backups.Service{
		Endpoint: c.Endpoint, Region: c.Region, AccessKey: c.AccessKey.Reveal(), SecretKey: c.SecretKey.Reveal(), Insecure: c.Insecure,
	})
	if err != nil {
		return nil, usageError{fmt.Errorf("gavel: %w", err)}
	}
	return bucket, nil
}

// splitBackup returns the place and the name of a backup: s3://bucket/a/b.bak is b.bak in s3://bucket/a/.
func splitBackup(path string) (where, name string) {
	if backups.IsBucket(path) {
		at := strings.LastIndexByte(path, '/') + 1
		return path[:at], path[at:]
	}
	return filepath.Dir(path), filepath.Base(path)
}

// backupDir is a directory of backups.
type backupDir string

// Path returns the path of the file.
func (d backupDir) Path(name string) string { return filepath.Join(string(d), name) }

// Put writes a file, which appears when it is complete, synced and read back.
func (d backupDir) Put(_ context.Context, name string, write func(io.Writer) error) error {
	sum := backups.NewSum()
	return writeAtomically(d.Path(name),
		func(f *os.File) error { return write(io.MultiWriter(f, sum)) },
		func(f *os.File) error { return sum.Check(f) })
}

// Open opens a file.
func (d backupDir) Open(_ context.Context, name string) (io.ReadCloser, int64, error) {
	f, err := os.Open(d.Path(name))
	if err != nil {
		return nil, 0, usageError{fmt.Errorf("gavel: %w", err)}
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// Exists reports whether there is anything of the name.
func (d backupDir) Exists(_ context.Context, name string) (bool, error) {
	_, err := os.Lstat(d.Path(name))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Names lists the regular files.
func (d backupDir) Names(context.Context) ([]string, error) {
	found, err := os.ReadDir(string(d))
	var names []string
	for _, f := range found {
		if f.Type().IsRegular() {
			names = append(names, f.Name())
		}
	}
	return names, err
}

// Remove deletes a file.
func (d backupDir) Remove(_ context.Context, name string) error { return os.Remove(d.Path(name)) }

// writeAtomically creates a file that is either complete or absent: it writes under another name, syncs, reads back and
// verifies, and renames.
func writeAtomically(path string, write, verify func(*os.File) error) error {
	temporary := path + ".partial"
	// An existing file keeps its mode and may be open elsewhere, so it is removed and not overwritten.
	if err := os.Remove(temporary); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(temporary, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err == nil {
		err = verify(f)
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
