//go:build unix

package limits

import "syscall"

// Files raises the limit of open files of the process to its hard limit, if possible, and returns the limit.
func Files() uint64 {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return filesUnknown
	}
	if l.Cur < l.Max {
		raised := syscall.Rlimit{Cur: l.Max, Max: l.Max}
		if syscall.Setrlimit(syscall.RLIMIT_NOFILE, &raised) == nil {
			l.Cur = l.Max
		}
	}
	return uint64(l.Cur) //nolint:unconvert,nolintlint // It is signed on some systems.
}
