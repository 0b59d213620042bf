package raftstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// FoundedGroups returns the group ids that a directory was founded with, or none when it is empty. The number of groups
// never changes, so whoever would choose it anew at every start asks here first.
func FoundedGroups(fs vfs.FS, dir string) ([]uint16, error) {
	path := fs.PathJoin(dir, identityName)
	if _, err := fs.Stat(path); err != nil {
		return nil, nil // Whether an empty directory may be founded is decided in Open.
	}
	f, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	var i identity
	if err := json.Unmarshal(b, &i); err != nil {
		return nil, fmt.Errorf("%w: %s cannot be read: %w", ErrDamaged, path, err)
	}
	return i.Groups, nil
}
