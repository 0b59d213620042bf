//go:build unix

package hotpath

import "syscall"

// errNothing: there is nothing to read now.
const errNothing = syscall.EAGAIN

// readNow reads what is there. REQUIRES: the descriptor does not block.
func readNow(fd uintptr, p []byte) (n int, err error) {
	for {
		n, err = syscall.Read(int(fd), p) //nolint:gosec // A descriptor.
		if err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}
