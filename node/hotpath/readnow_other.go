//go:build !unix

package hotpath

import (
	"errors"
)

var errNothing = errors.New("nothing to read now")

// readNow is not used where connections have no descriptors of this kind.
func readNow(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
