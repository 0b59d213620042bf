//go:build unix

package cli

import "syscall"

// privateMask takes every permission of group and others from the files that this process makes. The storage engine opens
// its files with 0666 and lets no one choose, so the mask of the process has to.
const privateMask = 0o077

// makeFilesPrivate sets the mask, whatever the process inherited. What the caller has masked besides stays masked.
func makeFilesPrivate() { syscall.Umask(syscall.Umask(privateMask) | privateMask) }
