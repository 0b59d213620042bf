//go:build unix

package cli

import "syscall"

// privateMask removes every permission of group and others from the files that this process creates. The storage engine
// opens its files with mode 0666 and has no option for it, so the umask of the process does it.
const privateMask = 0o077

// makeFilesPrivate adds privateMask to the umask that the process inherited.
func makeFilesPrivate() { syscall.Umask(syscall.Umask(privateMask) | privateMask) }
