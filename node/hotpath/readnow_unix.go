//go:build unix

package hotpath

import "syscall"

// errWouldBlock is the error of readNow when nothing has been received.
const errWouldBlock = syscall.EAGAIN

// readNow reads what has been received. REQUIRES: the descriptor is in non-blocking mode.
func readNow(fd uintptr, p []byte) (n int, err error) {
	for {
		n, err = syscall.Read(int(fd), p) // A descriptor.
		if err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}
