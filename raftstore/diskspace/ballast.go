package diskspace

import (
	"errors"
	"io"
	"log/slog"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore/durable"
)

// ballastWanted is the size that the ballast file should have, at most half of the reserve.
func (w *Watch) ballastWanted() uint64 {
	return min(uint64(max(w.c.Ballast, 0)), w.last.Reserve/2)
}

func (w *Watch) ballastPath() string { return w.c.FS.PathJoin(w.c.Dir, ballastName) }

// ballast is the size of the ballast file, 0 when there is none.
func (w *Watch) ballast() uint64 {
	info, err := w.c.FS.Stat(w.ballastPath())
	if err != nil {
		return 0
	}
	return uint64(info.Size())
}

// dropBallast deletes the ballast file. REQUIRES: mu is held, as in the functions below.
func (w *Watch) dropBallast() {
	if w.last.Ballast == 0 {
		return
	}
	c := &w.c
	if err := c.FS.Remove(w.ballastPath()); err != nil {
		c.Logger.Error("ballast_delete_failed", slog.Any("err", err))
		return
	}
	// A journaling file system such as ext4 gives the blocks of a deleted file to others once the deletion is durable.
	if err := durable.SyncDir(c.FS, c.Dir); err != nil {
		c.Logger.Error("ballast_delete_not_synced", slog.Any("err", err))
	}
	c.Logger.Warn("ballast_deleted", slog.Uint64("bytes", w.last.Ballast))
	w.last.Free += w.last.Ballast
	w.last.Ballast = 0
}

// makeBallast writes the ballast file again. A file of another size was left by another configuration, or by a crash.
func (w *Watch) makeBallast(want uint64) {
	c := &w.c
	if w.last.Ballast != 0 {
		if err := c.FS.Remove(w.ballastPath()); err != nil {
			c.Logger.Warn("ballast_replace_failed", slog.Any("err", err))
			return
		}
		w.last.Ballast = 0
	}
	if want == 0 {
		return
	}
	if err := writeBallast(c.FS, w.ballastPath(), int64(want)); err != nil {
		c.Logger.Warn("ballast_write_failed", slog.Any("err", errors.Join(err, c.FS.Remove(w.ballastPath()))))
		return
	}
	w.last.Ballast = want
	w.last.Free -= min(w.last.Free, want)
}

// writeBallast writes a file that occupies size bytes of the disk. Where the file system cannot preallocate blocks,
// zeros are written.
func writeBallast(fs vfs.FS, path string, size int64) error {
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if err = f.Preallocate(0, size); err == nil {
		_, err = f.WriteAt([]byte{0}, size-1) // The file has its size only when it is complete.
	} else if !vfs.IsNoSpaceError(err) {
		_, err = io.CopyN(f, zeros{}, size)
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// zeros is an endless reader of zero bytes.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}
