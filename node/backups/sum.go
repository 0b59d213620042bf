package backups

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
)

// ErrNotAsWritten means that what was read back of a stored backup is not what was written.
var ErrNotAsWritten = errors.New("the stored backup is not what was written")

// Sum is the size and the SHA-256 of what is written to it. A backup is compared with it after it was stored: the disk
// or the service returns the bytes once more, encrypted as they may be.
type Sum struct {
	size int64
	hash hash.Hash
}

// NewSum returns the sum of nothing.
func NewSum() *Sum { return &Sum{hash: sha256.New()} }

// Write adds bytes.
func (s *Sum) Write(p []byte) (int, error) {
	s.size += int64(len(p))
	return s.hash.Write(p)
}

// Size returns the number of bytes.
func (s *Sum) Size() int64 { return s.size }

// Check reads r to its end. It returns ErrNotAsWritten when that is anything but the bytes that were written, or the
// error of r.
func (s *Sum) Check(r io.Reader) error {
	back := NewSum()
	if _, err := io.Copy(back, r); err != nil {
		return fmt.Errorf("reading the stored backup: %w", err)
	}
	if back.size != s.size {
		return fmt.Errorf("%w: %d bytes were written, %d are there", ErrNotAsWritten, s.size, back.size)
	}
	if want, got := s.hash.Sum(nil), back.hash.Sum(nil); !bytes.Equal(want, got) {
		return fmt.Errorf("%w: its SHA-256 is %x, that of what was written %x", ErrNotAsWritten, got, want)
	}
	return nil
}
