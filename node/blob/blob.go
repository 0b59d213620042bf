// Package blob keeps uploaded files: images and videos of assets, and lists of audiences. A Store is a directory of this machine
// (Local), the directories of a cluster's nodes (Shared), or a bucket of an S3 service (S3). The replicated records say what a
// file means; its name does not.
package blob

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Store keeps files by name. It is safe for concurrent use.
//
// INVARIANT: a name leads to a whole file or to nothing. Put makes a file visible in one step, after it is durable; a reader never
// sees half of one. Putting a name again replaces its file, so an interrupted step may be repeated.
type Store interface {
	// Put stores all that r returns. An error of r is returned unchanged, and then nothing is stored.
	Put(ctx context.Context, name string, r io.Reader) error
	// Open returns a file, or ErrNotFound.
	Open(ctx context.Context, name string) (File, error)
	// Remove deletes a file. There is no error when it does not exist.
	Remove(ctx context.Context, name string) error
	// Walk calls fn for every file with the time of its Put, in no order. It stops at the first error of fn and returns it.
	Walk(ctx context.Context, fn func(name string, stored time.Time) error) error
	// Check returns an error when the store cannot be used: the directory is not writable, or the bucket does not answer.
	Check(ctx context.Context) error
}

// File is an open file of a known size.
type File interface {
	io.ReadSeekCloser
	Size() int64
}

// ErrNotFound is returned for a name that no file has.
var ErrNotFound = errors.New("no such file")

// nameMax is the longest name. BOUND: every file system takes 255 bytes.
const nameMax = 100

// Name makes a name that cannot be guessed: a kind (one letter), the number of the marketplace, and 128 random bits.
func Name(kind string, marketplace uint16) string {
	return fmt.Sprintf("%s%04x-%s", kind, marketplace, strings.ToLower(rand.Text()))
}

// Owner returns the kind and the marketplace of a name that Name made. ok is false for any other name.
func Owner(name string) (kind string, marketplace uint16, ok bool) {
	head, _, ok := strings.Cut(name, "-")
	if !ok || len(head) != 5 {
		return "", 0, false
	}
	if _, err := fmt.Sscanf(head[1:], "%04x", &marketplace); err != nil {
		return "", 0, false
	}
	return head[:1], marketplace, true
}

// valid reports whether a name consists of lower case letters, digits and hyphens. Gavel chooses all names, so nothing that a client
// sends reaches the file system.
func valid(name string) bool {
	bad := func(c rune) bool { return !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-') }
	return len(name) > 2 && len(name) <= nameMax && !strings.ContainsFunc(name, bad)
}

// Sweep removes the files for which used returns false, and returns how many it removed. A file younger than age stays, because the
// record that will name it may not be written yet.
func Sweep(ctx context.Context, s Store, now time.Time, age time.Duration, used func(name string) (bool, error)) (removed int, err error) {
	err = s.Walk(ctx, func(name string, stored time.Time) error {
		if now.Sub(stored) < age {
			return nil
		}
		keep, err := used(name)
		if err != nil || keep {
			return err
		}
		removed++
		return s.Remove(ctx, name)
	})
	return removed, err
}
