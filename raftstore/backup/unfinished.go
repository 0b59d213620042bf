package backup

import (
	"errors"
	"fmt"
	"os"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore/durable"
	"github.com/gavel-ads/gavel/raftstore/pebblelog"
)

// ErrUnfinished means that a restore or a recovery did not finish in the directory.
var ErrUnfinished = errors.New("the directory was left in the middle of a restore or recovery")

// Work is what replaces the content of a directory. Its value is what the file unfinished says.
type Work string

// The works.
const (
	NoWork  Work = ""
	Restore Work = "restore"
	Recover Work = "recover"
)

// A directory in which a restore or a recovery works has this file. It is written durably before anything else
// and deleted durably after everything else. Its content names the work.
const (
	unfinishedName = "unfinished"
	unfinishedTmp  = "unfinished.tmp"
)

// Begin marks the directory durably. It returns the errors of the file system.
func Begin(fs vfs.FS, dir string, work Work) error {
	return durable.WriteFile(fs, dir, unfinishedTmp, unfinishedName, []byte(work+"\n"))
}

// End deletes the mark durably. It returns the errors of the file system.
func End(fs vfs.FS, dir string) error {
	return errors.Join(fs.Remove(fs.PathJoin(dir, unfinishedName)), durable.SyncDir(fs, dir))
}

// Unfinished returns the work that a directory was left in, NoWork for none. It returns pebblelog.ErrDamaged when the
// mark cannot be read, or the error of the file system.
func Unfinished(fs vfs.FS, dir string) (Work, error) {
	path := fs.PathJoin(dir, unfinishedName)
	if _, err := fs.Stat(path); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return NoWork, nil
		}
		return NoWork, err
	}
	b, err := durable.ReadFile(fs, path)
	if err != nil {
		return NoWork, err
	}
	for _, work := range []Work{Restore, Recover} {
		if string(b) == string(work)+"\n" {
			return work, nil
		}
	}
	return NoWork, fmt.Errorf("%w: %s cannot be read", pebblelog.ErrDamaged, path)
}

// CheckFinished returns ErrUnfinished for a directory that was left in the middle of some work.
func CheckFinished(fs vfs.FS, dir string) error {
	work, err := Unfinished(fs, dir)
	if err == nil && work != NoWork {
		return fmt.Errorf("%w: %s; run it again", ErrUnfinished, work)
	}
	return err
}
