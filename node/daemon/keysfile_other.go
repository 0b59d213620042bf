//go:build !unix

package daemon

import "io/fs"

const (
	noFollow = 0
	noWait   = 0
)

// ownedAlone is true: other systems keep owners elsewhere.
func ownedAlone(fs.FileInfo) bool { return true }
