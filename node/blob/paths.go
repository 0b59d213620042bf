package blob

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/minio/minio-go/v7"
)

// Paths keeps files under paths, for readers outside of Gavel. A directory (Local) and a bucket (S3) do; a store is used either by
// names or by paths, because Sweep knows nothing of paths.
//
// INVARIANT: a path leads to a whole file or to nothing, as with Store.
type Paths interface {
	// PutPath stores all that r returns, in place of a file that is there. An error of r is returned, and then nothing is stored.
	PutPath(ctx context.Context, path string, r io.Reader) error
	// ReadPath returns a file, or ErrNotFound. It returns an error for a file of more than limit bytes.
	ReadPath(ctx context.Context, path string, limit int64) ([]byte, error)
}

// pathMax is the longest path in bytes. BOUND: S3 takes 1,024, of which a prefix is some.
const pathMax = 512

// validPath reports whether a path consists of names of letters, digits and a few signs, separated by slashes.
func validPath(p string) bool {
	for name := range strings.SplitSeq(p, "/") {
		bad := func(c rune) bool {
			return !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.ContainsRune("-=._", c))
		}
		if name == "" || name[0] == '.' || strings.ContainsFunc(name, bad) {
			return false
		}
	}
	return len(p) <= pathMax
}

// PutPath stores a file under a path, and creates the directories that it needs.
func (l *Local) PutPath(_ context.Context, p string, r io.Reader) error {
	if !validPath(p) {
		return fmt.Errorf("blob: %q is not a valid path", p)
	}
	temp := temporary + strings.ToLower(rand.Text())
	err := l.write(temp, r)
	if err == nil {
		err = l.makeDirs(path.Dir(p))
	}
	if err == nil {
		err = l.root.Rename(temp, p)
	}
	if err != nil {
		return errors.Join(err, l.root.Remove(temp))
	}
	return l.sync(path.Dir(p))
}

// makeDirs creates a directory and those above it durably.
func (l *Local) makeDirs(dir string) error {
	if dir == "." {
		return nil
	}
	if err := l.makeDirs(path.Dir(dir)); err != nil {
		return err
	}
	err := l.root.Mkdir(dir, dirMode)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return l.sync(path.Dir(dir))
}

// ReadPath reads a file.
func (l *Local) ReadPath(_ context.Context, p string, limit int64) ([]byte, error) {
	if !validPath(p) {
		return nil, ErrNotFound
	}
	f, err := l.root.Open(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return readAll(p, f, limit)
}

// PutPath stores a file under a path.
func (s *S3) PutPath(ctx context.Context, p string, r io.Reader) error {
	if !validPath(p) {
		return fmt.Errorf("blob: %q is not a valid path", p)
	}
	return s.put(ctx, p, r)
}

// ReadPath reads a file.
func (s *S3) ReadPath(ctx context.Context, p string, limit int64) ([]byte, error) {
	if !validPath(p) {
		return nil, ErrNotFound
	}
	object, err := s.client.GetObject(ctx, s.config.Bucket, s.config.Prefix+p, minio.GetObjectOptions{})
	if err != nil {
		return nil, s.error(err)
	}
	b, err := readAll(p, object, limit)
	return b, s.error(err) // The client asks for the file when it is read.
}

// readAll reads a file of at most limit bytes and closes it.
func readAll(p string, f io.ReadCloser, limit int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("blob: %s has more than %d bytes", p, limit)
	}
	return b, err
}
