package raftstore

import (
	"errors"
	"fmt"
)

// errNoRoom puts a snapshot off. Raft logs it and asks again after the next interval.
var errNoRoom = errors.New("the disk has no room for a snapshot, so the log is not cut")

// roomLook is after how many bytes of a snapshot free space is measured again: others write, too.
const roomLook = 8 << 20

// room measures whether so many bytes may be written without making the node Full. It asks about the disk of the data directory only:
// nothing but the log is written to that of Config.WALDir.
func (p *space) room(bytes uint64) error {
	mark := p.mark.Load()
	if mark == 0 {
		return nil // Nobody watches.
	}
	usage, err := p.store.c.FS.GetDiskUsage(p.store.c.Dir)
	free := usage.AvailBytes
	if err == nil && (free < mark || free-mark < bytes) { // Of an error the watch tells.
		return fmt.Errorf("%w: %d bytes are free, it needs %d, and %d have to stay free", errNoRoom, free, bytes, mark)
	}
	return nil
}

// roomToBegin is asked while nothing is applied, so it looks at nothing but what is known and what is free.
func (m *machine) roomToBegin() error {
	return m.count(m.store.space.room(uint64(m.snaps.NewestBytes())))
}

// roomToPersist is asked when it is this snapshot's turn: those of other groups may have taken the room meanwhile. The snapshot
// takes as much as the newest one, or as an attempt that had to stop, or, where there is neither, as the state on disk; and what
// is in memory is flushed first.
func (m *machine) roomToPersist() error {
	need := max(uint64(m.snaps.NewestBytes()), m.reached.Load())
	if need == 0 {
		var err error
		if need, err = m.state.DiskBytes(); err != nil {
			return err
		}
	}
	return m.count(m.store.space.room(need + m.store.state.MemoryBytes()))
}

func (m *machine) count(err error) error {
	if errors.Is(err, errNoRoom) {
		m.putOff.Add(1)
	}
	return err
}

// roomToInstall is asked before a snapshot of a leader is taken, which is written down and replaces the state then.
func (p *space) roomToInstall(bytes int64) bool {
	if p.full.Load() {
		return p.takes(bytes) // The last MiB.
	}
	return p.room(reserveSnaps*uint64(max(bytes, 0))) == nil
}
