package raftstore

import (
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// markerPrefix begins the names of the empty files by which Pebble says which MANIFEST is the current one.
const markerPrefix = "marker."

// orderedFS syncs a directory before a marker file is created in it. Pebble makes the new MANIFEST and the marker that
// points to it durable with one sync of the directory. A file system without ordered metadata may keep the marker alone
// when the power fails in between, and the database does not open any more: our crash test does just that. ext4 and
// XFS keep the order by themselves; for them this is one idle sync per start and per rolled MANIFEST.
type orderedFS struct {
	vfs.FS
}

// Create syncs the directory first when the file is a marker.
func (o orderedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(o.PathBase(name), markerPrefix) {
		if err := syncDir(o.FS, o.PathDir(name)); err != nil {
			return nil, err
		}
	}
	return o.FS.Create(name, category)
}

// Unwrap returns the file system below.
func (o orderedFS) Unwrap() vfs.FS { return o.FS }
