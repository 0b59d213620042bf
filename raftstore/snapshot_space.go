package raftstore

import (
	"errors"
	"fmt"
)

// errNoSpaceForSnapshot postpones a snapshot. Raft logs it as "failed to take snapshot" and tries again after the next
// interval; it is not a failure of the disk, so no process ends for it. The log is not truncated meanwhile, so it
// grows.
//
// Where the node's own log fills the disk, a snapshot would be the only way to space, but it needs more space before it
// frees any. That takes a configured reserve below what a snapshot needs, or a state that outgrew its last snapshot.
// The node then stays Low, running and readable until somebody gives it space.
var errNoSpaceForSnapshot = errors.New("the disk has no room for a snapshot, so the log is not truncated")

// freeCheckBytes is the number of bytes of a snapshot after which free space is measured again, because other files
// grow too.
const freeCheckBytes = 8 << 20

// checkFree measures free space and returns an error when bytes cannot be written without making the node Full. It
// measures the disk of the data directory only: nothing but the log is written to that of Config.WALDir.
func (p *space) checkFree(bytes uint64) error {
	mark := p.mark.Load()
	if mark == 0 {
		return nil // Free space is not watched.
	}
	usage, err := p.store.c.FS.GetDiskUsage(p.store.c.Dir)
	free := usage.AvailBytes
	if err == nil && (free < mark || free-mark < bytes) { // An error is logged by space.measure.
		return fmt.Errorf("%w: %d bytes are free, it needs %d, and %d have to stay free", errNoSpaceForSnapshot, free, bytes, mark)
	}
	return nil
}

// checkFreeToBegin is called while nothing is applied, so it uses only what is known and what is free.
func (m *machine) checkFreeToBegin() error {
	return m.countPostponed(m.store.space.checkFree(uint64(m.snaps.NewestBytes())))
}

// checkFreeToWrite is called when this snapshot may be written: those of other groups may have taken the space
// meanwhile. The snapshot needs as much as the newest one, or as an attempt that had to stop, or, where there is
// neither, as the state on disk, which is compressed; and what is in memory is flushed first.
func (m *machine) checkFreeToWrite() error {
	need := max(uint64(m.snaps.NewestBytes()), m.partialBytes.Load())
	if need == 0 {
		var err error
		if need, err = m.state.DiskBytes(); err != nil {
			return err
		}
	}
	return m.countPostponed(m.store.space.checkFree(need + m.store.state.MemoryBytes()))
}

// countPostponed counts a snapshot that is postponed for lack of space, and returns err.
func (m *machine) countPostponed(err error) error {
	if errors.Is(err, errNoSpaceForSnapshot) {
		m.postponed.Add(1)
	}
	return err
}

// mayInstall reports whether a snapshot of a leader may be installed: it is written to the disk, and then replaces the
// state.
func (p *space) mayInstall(bytes int64) bool {
	if p.full.Load() {
		return p.chargeQuota(bytes) // From the last MiB.
	}
	return p.checkFree(reserveSnapshots*uint64(max(bytes, 0))) == nil
}
