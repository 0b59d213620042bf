package limits

import (
	"errors"
	"io"
)

// ErrBudget is returned when the budget of bytes does not allow a body to be read on.
var ErrBudget = errors.New("too many bytes of request bodies are under way")

// ErrTooLarge is returned for a body that is longer than it may be.
var ErrTooLarge = errors.New("the body is over its limit")

// bodyStep is the first size of a body's buffer. BOUND: small bodies need no second one.
const bodyStep = 16 << 10

// AppendBody appends a body to dst, which grows with what arrives and never by what was announced. It reads at most most bytes
// and returns ErrTooLarge when there are more. The lease grows with the buffer, weight bytes for each of its bytes, because what
// is made of a body takes memory too; ErrBudget says that it could not. The buffer is returned with every error.
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
		case err == io.EOF && len(dst) <= most: //nolint:errorlint // Readers return it as it is.
			return dst, nil
		case err != nil && err != io.EOF: //nolint:errorlint // As above.
			return dst, err
		}
	}
}
