package limits

import (
	"errors"
	"io"
)

// ErrBudget is returned when the budget of bytes does not allow more of a body to be read.
var ErrBudget = errors.New("too many bytes of request bodies are under way")

// ErrTooLarge is returned for a body that is longer than its limit.
var ErrTooLarge = errors.New("the body is over its limit")

// bodyStep is the first size of a body's buffer, in bytes. BOUND: small bodies need no second allocation.
const bodyStep = 16 << 10

// AppendBody reads a body and appends it to dst. The buffer grows with the bytes received and not with the announced length.
// It reads at most most bytes and returns ErrTooLarge if there are more. The lease grows with the buffer by weight bytes for
// each of its bytes, because parsing a body takes memory too; if the budget does not allow that, it returns ErrBudget. Other
// errors are those of the reader. It returns the buffer with every error.
func AppendBody(dst []byte, from io.Reader, most int, lease *Lease, weight int64) ([]byte, error) {
	if !lease.Grow(weight * int64(cap(dst))) {
		return dst, ErrBudget
	}
	for {
		if len(dst) > most {
			return dst, ErrTooLarge
		}
		if len(dst) == cap(dst) {
			size := min(max(2*cap(dst), bodyStep), max(most+1, cap(dst)+1))
			if !lease.Grow(weight * int64(size)) {
				return dst, ErrBudget
			}
			larger := make([]byte, len(dst), size)
			copy(larger, dst)
			dst = larger
		}
		n, err := from.Read(dst[len(dst):min(cap(dst), most+1)])
		dst = dst[:len(dst)+n]
		switch {
		case err == io.EOF && len(dst) <= most:
			return dst, nil
		case err != nil && err != io.EOF:
			return dst, err
		}
	}
}
