package raftstore

import (
	"errors"

	"github.com/gavel-ads/gavel/raftstore/diskspace"
)

// freeCheckBytes is the number of bytes of a snapshot after which free space is measured again, because other files
// grow too.
const freeCheckBytes = 8 << 20

// checkFreeToBegin is called while nothing is applied, so it uses only what is known and what is free.
func (m *machine) checkFreeToBegin() error {
	return m.countPostponed(m.store.space.CheckFree(uint64(m.snaps.NewestBytes())))
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
	return m.countPostponed(m.store.space.CheckFree(need + m.store.state.MemoryBytes()))
}

// countPostponed counts a snapshot that is postponed for lack of space, and returns err.
func (m *machine) countPostponed(err error) error {
	if errors.Is(err, diskspace.ErrNoSpaceForSnapshot) {
		m.postponed.Add(1)
	}
	return err
}
