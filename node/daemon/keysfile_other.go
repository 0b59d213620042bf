//go:build !unix

package daemon

import "io/fs"

const (
	noFollow = 0
	noWait   = 0
)

// exclusivelyOwned returns true: other systems do not have Unix owners.
func ownedAlone(fs.FileInfo) bool { return true }
