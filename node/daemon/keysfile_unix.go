//go:build unix

package daemon

import (
	"io/fs"
	"os"
	"syscall"
)

const (
	noFollow = syscall.O_NOFOLLOW // A symbolic link is an error.
	noWait   = syscall.O_NONBLOCK // Opening a pipe without a writer does not block the start.
)

// exclusivelyOwned reports whether a file belongs to this user and has a single hard link.
func exclusivelyOwned(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int64(s.Uid) == int64(os.Geteuid()) && s.Nlink == 1
}
