package diskspace

import (
	"errors"
	"fmt"
)

// ErrNoSpaceForSnapshot postpones a snapshot. Raft logs it as "failed to take snapshot" and tries again after the next
// interval; it is not a failure of the disk, so no process ends for it. The log is not truncated meanwhile, so it
// grows.
//
// Where the node's own log fills the disk, a snapshot would be the only way to space, but it needs more space before it
// frees any. That takes a configured reserve below what a snapshot needs, or a state that outgrew its last snapshot.
// The node then stays Low, running and readable until somebody gives it space.
var ErrNoSpaceForSnapshot = errors.New("the disk has no room for a snapshot, so the log is not truncated")

// CheckFree measures free space and returns ErrNoSpaceForSnapshot, wrapped with the figures, when bytes cannot be
// written without making the node Full. It measures the disk of the data directory only: nothing but the log is written
// to that of Config.WALDir.
func (w *Watch) CheckFree(bytes uint64) error {
	mark := w.mark.Load()
	if mark == 0 {
		return nil // Free space is not watched.
	}
	usage, err := w.c.FS.GetDiskUsage(w.c.Dir)
	free := usage.AvailBytes
	if err == nil && (free < mark || free-mark < bytes) { // An error is logged by Measure.
		return fmt.Errorf("%w: %d bytes are free, it needs %d, and %d have to stay free", ErrNoSpaceForSnapshot, free, bytes, mark)
	}
	return nil
}

// MayInstall reports whether a snapshot of a leader may be installed: it is written to the disk, and then replaces the
// state.
func (w *Watch) MayInstall(bytes int64) bool {
	if w.full.Load() {
		return w.chargeQuota(bytes) // From the last MiB.
	}
	return w.CheckFree(reserveSnapshots*uint64(max(bytes, 0))) == nil
}
