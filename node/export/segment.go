package export

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"

	"github.com/gavel-ads/gavel/shard/money"
)

// segmentBatch is how many rows are encoded at once.
const segmentBatch = 256

// segment writes the rows of one dataset, group and hour to the target, in one or several formats at the same time. A segment without
// rows leaves no file.
type segment[R row] struct {
	ctx     context.Context //nolint:containedctx // The context of one call of writeSegment.
	target  Target
	path    string // Without its ending.
	formats []Format
	uploads []*upload[R] // Of each format, from the first row on.
	batch   []R
	rows    int64
	sums    map[string]int64
}

// writeSegment writes the rows that produce hands to add, and returns the files that the target has then.
func writeSegment[R row](ctx context.Context, to Target, path string, formats []Format, produce func(add func(R) error) error) ([]File, error) {
	s := &segment[R]{ctx: ctx, target: to, path: path, formats: formats, sums: map[string]int64{}}
	err := produce(s.add)
	if err == nil {
		err = s.flush()
	}
	var files []File
	for i, u := range s.uploads {
		if closed := u.end(err); closed != nil {
			err = errors.Join(err, closed)
			continue
		}
		files = append(files, File{
			Format: formats[i], Path: u.path, Rows: s.rows, Bytes: u.bytes, SHA256: hex.EncodeToString(u.hash.Sum(nil)), Sums: s.sums,
		})
	}
	if err != nil {
		return nil, err
	}
	return files, nil
}

func (s *segment[R]) add(r R) error {
	if s.rows == 0 {
		if err := s.open(); err != nil {
			return err
		}
	}
	s.rows++
	r.sums(func(name string, n int64) {
		sum, ok := money.Add(money.Micros(s.sums[name]), money.Micros(n))
		if !ok {
			sum = money.MaxMicros // Reported prices may be as large as that; charges never are.
		}
		s.sums[name] = int64(sum)
	})
	if s.batch = append(s.batch, r); len(s.batch) < segmentBatch {
		return nil
	}
	return s.flush()
}

func (s *segment[R]) open() error {
	for _, f := range s.formats {
		u, err := newUpload[R](s.ctx, s.target, s.path+"."+string(f), f)
		if err != nil {
			return err
		}
		s.uploads = append(s.uploads, u)
	}
	return nil
}

func (s *segment[R]) flush() error {
	for _, u := range s.uploads {
		if err := u.encoder.encode(s.batch); err != nil {
			return err
		}
	}
	s.batch = s.batch[:0]
	return nil
}

// upload is a file that is encoded and stored at the same time, so that it takes no memory and no disk of this machine.
type upload[R row] struct {
	path    string
	encoder encoder[R]
	pipe    *io.PipeWriter
	hash    hash.Hash
	bytes   int64
	stored  chan error // Receives the result of the Put once.
}

func newUpload[R row](ctx context.Context, to Target, path string, f Format) (*upload[R], error) {
	from, pipe := io.Pipe()
	u := &upload[R]{path: path, pipe: pipe, hash: sha256.New(), stored: make(chan error, 1)}
	go func() {
		err := to.PutPath(ctx, path, from)
		_ = from.CloseWithError(err) // A Put that failed reads no more; without an error it has read everything.
		u.stored <- err
	}()
	var err error
	if u.encoder, err = newEncoder[R](f, u); err != nil {
		return nil, u.end(err)
	}
	return u, nil
}

// Write receives the encoded bytes.
func (u *upload[R]) Write(b []byte) (int, error) {
	n, err := u.pipe.Write(b)
	u.hash.Write(b[:n])
	u.bytes += int64(n)
	return n, err
}

// end waits until the file is stored. With an error of the rows nothing is stored.
func (u *upload[R]) end(failed error) error {
	if failed == nil {
		failed = u.encoder.close()
	}
	_ = u.pipe.CloseWithError(failed) // It returns no error. Without one the reader sees the end of the file.
	stored := <-u.stored
	if failed != nil {
		return failed
	}
	return stored
}
