//go:build !unix

package hotpath

import (
	"errors"
)

var errWouldBlock = errors.New("nothing to read now")

// readNow is not supported on this platform, so connections are read with their Read method.
func readNow(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
