package raftstore

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/moment"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

// ReserveOff as Config.Reserve turns the watch over free space off, ballast included.
const ReserveOff = -1

const (
	ballastName = "ballast"

	reserveShare    = 20               // The default reserve is one part in so many of the disk, ...
	reserveBytesMin = 1 << 30          // ... but at least this, ...
	reserveSnaps    = 2                // ... and room for so many of the newest snapshot.
	hysteresisShare = 10               // Writes are back when a tenth more than the reserve is free.
	ballastBytes    = 64 << 20         // BOUND: of the ballast file, by default.
	criticalMax     = 256 << 20        // BOUND: of the mark at which the ballast goes.
	fullMax         = 128 << 20        // BOUND: of the mark at which a follower takes no more entries: all memtables at once.
	fullTakes       = 1 << 20          // BOUND: bytes of commands that a full node takes.
	shyTime         = 10 * time.Second // How long a node that is low on space leaves elections to others.
	handOverPause   = 2 * time.Second  // Between two attempts to give leaderships away.
	noSpacePatience = 2 * time.Second  // How long a caller waits for a leader with space.
)

// Space is what a node knows about its disk. Of two disks (Config.WALDir) it tells about the fuller one.
//
//	free >= Reserve              all is well
//	free <  Reserve              Low: gives leaderships away, refuses proposals as leader but vital ones, follows on
//	free <  Reserve/2, 256 MiB   the ballast file is deleted, so that what is in memory can be flushed
//	free <  Reserve/4, 128 MiB   Full: no vital ones, takes no more than 1 MiB from a leader; votes and serves reads
//
// The last MiB is for what is on its way when all nodes become low at once: it must be committed, or nobody could lead and
// answer reads. Low ends by itself when a tenth more than the reserve is free and the ballast lies there again. Pebble must never meet
// a full disk: a flush is repeated for ever then, and a commit ends the process.
type Space struct {
	Watched bool   // False: the file system does not tell, or Config.Reserve is ReserveOff. Then the rest is zero.
	Free    uint64 // Bytes an ordinary user may still write.
	Total   uint64 // Bytes of the disk.
	Reserve uint64 // Below it the node is low.
	Ballast uint64 // Bytes of the ballast file.
	Low     bool
	Full    bool
	Since   time.Time // When Low last changed; zero: never.
	Lows    uint64    // How often the node became low since it started.
}

// space watches the disk.
type space struct {
	store *Store
	low   atomic.Bool
	full  atomic.Bool
	since moment.Last // When low last changed.

	mark   atomic.Uint64 // Free space below which the node is full; 0: nobody watches.
	taken  atomic.Int64  // Bytes of commands since full.
	period atomic.Uint64 // Changes while the node is not full.
	giving atomic.Bool   // BOUND: one round of giving leaderships away at a time.

	mu   sync.Mutex // One measurement at a time.
	last Space
}

// Space returns what the last measurement found. It costs a lock; nothing is measured.
func (s *Store) Space() Space {
	s.space.mu.Lock()
	defer s.space.mu.Unlock()
	return s.space.last
}

// watch measures until the store closes.
func (p *space) watch() {
	if !p.store.Space().Watched {
		return
	}
	for p.store.life.Err() == nil {
		p.store.pause(p.store.c.SpaceInterval)
		p.measure()
		if p.low.Load() && p.giving.CompareAndSwap(false, true) {
			p.store.background.Go(p.giveAway)
		}
	}
}

// measure looks at the disk and moves between the states of Space.
func (p *space) measure() {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := &p.store.c
	if c.Reserve == ReserveOff {
		return
	}
	usage, err := p.usage()
	if err != nil {
		if !errors.Is(err, vfs.ErrUnsupported) {
			c.Logger.Warn("free space cannot be measured", slog.Any("err", err))
		}
		return // The last state stays.
	}
	now := &p.last
	now.Watched, now.Free, now.Total, now.Reserve = true, usage.AvailBytes, usage.TotalBytes, p.reserve(usage.TotalBytes)
	now.Ballast = p.ballast()
	want := p.ballastWanted()
	enough := now.Reserve + now.Reserve/hysteresisShare
	switch {
	case now.Free < min(now.Reserve/2, criticalMax):
		p.dropBallast()
	case now.Ballast != want && now.Free >= enough+want:
		p.makeBallast(want)
	}
	low := now.Low
	switch {
	case now.Free < now.Reserve:
		low = true
	case now.Free >= enough && now.Ballast == want:
		low = false
	}
	mark := min(now.Reserve/4, fullMax)
	p.mark.Store(mark)
	p.full.Store(now.Free+now.Ballast < mark)
	if now.Full = p.full.Load(); !now.Full {
		p.taken.Store(0)
		p.period.Add(1)
	}
	if low != now.Low {
		p.turn(low)
	}
}

// turn changes between low and well. LOCKS: mu is held.
func (p *space) turn(low bool) {
	now := &p.last
	now.Low, now.Since = low, time.Now()
	p.since.Mark()
	p.low.Store(low)
	attrs := []any{slog.Uint64("free_bytes", now.Free), slog.Uint64("reserve_bytes", now.Reserve)}
	if low {
		now.Lows++
		p.store.c.Logger.Error("the disk is nearly full: this node takes no writes until there is space", attrs...)
		return
	}
	p.store.c.Logger.Info("there is space again: this node takes writes", attrs...)
}

// usage is that of the fuller disk.
func (p *space) usage() (vfs.DiskUsage, error) {
	c := &p.store.c
	usage, err := c.FS.GetDiskUsage(c.Dir)
	if err != nil || c.WALDir == "" {
		return usage, err
	}
	wal, err := c.FS.GetDiskUsage(c.WALDir)
	if wal.AvailBytes < usage.AvailBytes {
		usage = wal
	}
	return usage, err
}

func (p *space) reserve(total uint64) uint64 {
	if set := p.store.c.Reserve; set > 0 {
		return uint64(set)
	}
	newest := int64(0)
	for _, g := range p.store.groups {
		newest = max(newest, g.snaps.NewestBytes())
	}
	return max(total/reserveShare, reserveBytesMin, reserveSnaps*uint64(newest))
}

// shy reports that this node leaves leading to others: it abstains, or its clock is wrong.
func (s *Store) shy() bool { return s.abstaining.Load() || s.clocks.wrong.Load() }

// brakes hold back the raft of a group while the disk is nearly full, and while this node is shy.
func (p *space) brakes(g *Group) transport.Brakes {
	return transport.Brakes{
		// Others go first. But when nobody is elected for a while, as when all voters are low or the only complete log is
		// here, a leader that refuses writes is better than none: followers catch up with it, and reads have an answer.
		Stand: func() bool {
			contact, _ := g.safe.LeaderContact()
			if p.store.shy() && time.Since(contact) < drainShyTime {
				return false // After that this node hands over again, when the others have its log.
			}
			if !p.low.Load() {
				return true
			}
			return time.Since(contact) > shyTime && time.Since(p.since.Time()) > shyTime
		},
		Lead: func() bool { return !p.low.Load() && !p.store.shy() },
		Store: func(term uint64, entries []*raft.Log) bool {
			return !p.full.Load() || g.intake.take(p, term, fresh(g.log, entries))
		},
		Install: p.roomToInstall,
	}
}

// giveAway hands the leaderships of this node to voters that take them. A group nobody takes stays, and refuses writes.
func (p *space) giveAway() {
	defer p.giving.Store(false)
	for _, g := range p.store.groups {
		if g.raft.State() == raft.Leader {
			_ = g.offer() // It is asked again in a moment.
		}
	}
	p.store.pause(handOverPause)
}

// proposeHere commits a command as the leader.
func (g *Group) proposeHere(ctx context.Context, cmd []byte) (result []byte, index uint64, err error) {
	if g.store.space.low.Load() {
		return nil, 0, ErrNoSpace
	}
	return g.batcher.propose(ctx, cmd)
}

// ProposeVital commits a command that a cluster needs in order to serve reads, as the leader's time is: also while this node is
// Low, until it is Full. Only the leader takes it, and what it says is not repeated: the caller has another one soon.
// REQUIRES: such commands are small and few, because each one is written where space is short.
func (g *Group) ProposeVital(ctx context.Context, cmd []byte) (result []byte, err error) {
	switch {
	case !g.Ready():
		return nil, ErrNotLeader
	case g.store.space.full.Load():
		return nil, ErrNoSpace
	}
	result, _, err = g.batcher.propose(ctx, cmd)
	return result, err
}
