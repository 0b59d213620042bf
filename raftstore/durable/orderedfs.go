package durable

import (
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// markerPrefix begins the names of the empty files by which Pebble says which MANIFEST is the current one.
const markerPrefix = "marker."

// OrderedFS syncs a directory before a marker file is created in it. Pebble makes the new MANIFEST and the marker that
// points to it durable with one sync of the directory. When the power fails in between, a file system without ordered
// metadata may keep the marker alone, and the database does not open any more; the crash test with half of the unsynced
// data does that. ext4 and XFS keep the order by themselves; on them this is one sync without work per start and per
// new MANIFEST.
type OrderedFS struct {
	vfs.FS
}

// Create syncs the directory first when the file is a marker.
func (o OrderedFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(o.PathBase(name), markerPrefix) {
		if err := SyncDir(o.FS, o.PathDir(name)); err != nil {
			return nil, err
		}
	}
	return o.FS.Create(name, category)
}

// Unwrap returns the wrapped file system.
func (o OrderedFS) Unwrap() vfs.FS { return o.FS }
