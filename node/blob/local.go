package blob

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

// Local keeps files in a directory, in subdirectories by the last two letters of their names.
//
// A file is written under a temporary name, synced and renamed, and then its directory is synced. So after Put returned a power cut
// loses nothing, and before that it leaves at most a file with a temporary name, which the next start removes. All paths go
// through os.Root, so that not even a defect of Gavel could leave the directory.
type Local struct{ root *os.Root }

const (
	dirMode  = 0o700
	fileMode = 0o600
	// copyBuffer is the memory in bytes that storing a file of any size takes.
	copyBuffer = 64 << 10
	temporary  = ".tmp-"
	// mountedAge is how old a file with a temporary name is that OpenMounted removes. BOUND: one that is being written changes more often.
	mountedAge = time.Hour
)

// OpenLocal opens a directory, creates it when it is missing, and removes what interrupted uploads have left.
func OpenLocal(dir string) (*Local, error) { return openLocal(dir, 0) }

// OpenMounted is OpenLocal for a directory that several nodes have mounted: it leaves alone what another node may be writing.
func OpenMounted(dir string) (*Local, error) { return openLocal(dir, mountedAge) }

func openLocal(dir string, age time.Duration) (*Local, error) {
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return nil, fmt.Errorf("blob directory: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("blob directory: %w", err)
	}
	l := &Local{root}
	return l, l.removeTemporary(age)
}

// Close closes the directory.
func (l *Local) Close() error { return l.root.Close() }

// removeTemporary removes files with temporary names that are at least so old.
func (l *Local) removeTemporary(age time.Duration) error {
	entries, err := fs.ReadDir(l.root.FS(), ".")
	if err != nil {
		return fmt.Errorf("blob directory: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), temporary) {
			continue
		}
		info, err := e.Info()
		if err == nil && (age == 0 || time.Since(info.ModTime()) >= age) { // The clock may have been set back.
			err = l.root.Remove(e.Name())
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // Another node may have removed it.
			return fmt.Errorf("blob directory: %w", err)
		}
	}
	return nil
}

func pathOf(name string) (dir, file string) {
	dir = name[len(name)-2:]
	return dir, path.Join(dir, name)
}

// Put stores a file.
func (l *Local) Put(_ context.Context, name string, r io.Reader) error {
	if !valid(name) {
		return fmt.Errorf("blob: %q is not a valid name", name)
	}
	temp := temporary + strings.ToLower(rand.Text())
	if err := l.write(temp, r); err != nil {
		return errors.Join(err, l.root.Remove(temp))
	}
	dir, file := pathOf(name)
	if err := l.makeDir(dir); err != nil {
		return errors.Join(err, l.root.Remove(temp))
	}
	if err := l.root.Rename(temp, file); err != nil {
		return errors.Join(err, l.root.Remove(temp))
	}
	return l.sync(dir)
}

func (l *Local) write(name string, r io.Reader) error {
	f, err := l.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return err
	}
	// The wrappers hide ReadFrom and WriteTo, so that the copy uses this buffer and not one that grows without bound.
	_, err = io.CopyBuffer(struct{ io.Writer }{f}, struct{ io.Reader }{r}, make([]byte, copyBuffer))
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// makeDir creates a subdirectory durably, before a file is moved there.
func (l *Local) makeDir(dir string) error {
	err := l.root.Mkdir(dir, dirMode)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return l.sync(".")
}

func (l *Local) sync(dir string) error {
	d, err := l.root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

type localFile struct {
	*os.File
	size int64
}

// Size is the size of the file in bytes.
func (f localFile) Size() int64 { return f.size }

// Open opens a file.
func (l *Local) Open(_ context.Context, name string) (File, error) {
	if !valid(name) {
		return nil, ErrNotFound
	}
	_, file := pathOf(name)
	f, err := l.root.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return localFile{f, info.Size()}, nil
}

// Remove deletes a file.
func (l *Local) Remove(_ context.Context, name string) error {
	if !valid(name) {
		return nil
	}
	_, file := pathOf(name)
	if err := l.root.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Walk lists the files.
func (l *Local) Walk(ctx context.Context, fn func(string, time.Time) error) error {
	return fs.WalkDir(l.root.FS(), ".", func(at string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if e.IsDir() || !valid(e.Name()) {
			return nil
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // It was removed in between.
		}
		if err != nil {
			return err
		}
		return fn(path.Base(at), info.ModTime())
	})
}

// Check writes a file, which is the only way to know that the disk accepts one.
func (l *Local) Check(ctx context.Context) error {
	name := Name("z", 0)
	if err := l.Put(ctx, name, strings.NewReader("check")); err != nil {
		return fmt.Errorf("blob directory: %w", err)
	}
	return l.Remove(ctx, name)
}
