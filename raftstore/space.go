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

// ReserveOff as Config.Reserve turns the watch over free space off, the ballast file included.
const ReserveOff = -1

const (
	ballastName = "ballast"

	// The default reserve is the largest of a twentieth of the disk, 1 GiB, and two of the newest snapshot. A snapshot
	// that is not larger than the last one then always has room above the reserve: its size is at most half of the
	// reserve, and the other half is more than 192 MiB. So the log is truncated as long as commands are taken.
	reserveShare     = 20
	reserveBytesMin  = 1 << 30
	reserveSnapshots = 2

	hysteresisShare  = 10               // Low ends when a tenth more than the reserve is free.
	ballastBytes     = 64 << 20         // BOUND: default size of the ballast file.
	criticalMax      = 256 << 20        // BOUND: largest free space at which the ballast file is deleted.
	fullMax          = 128 << 20        // BOUND: largest free space at which a node is Full: the size of all memtables at once.
	fullQuotaBytes   = 1 << 20          // BOUND: bytes of commands that a Full node stores.
	lowCampaignDelay = 10 * time.Second // How long a Low node leaves elections to others.
	transferPause    = 2 * time.Second  // Between two attempts to transfer leaderships away.
	noSpaceRetryMax  = 2 * time.Second  // How long a caller waits for a leader with space.
)

// Space is what a node knows about its disk. Of two disks (Config.WALDir) it is about the one with less free space.
//
//	free >= Reserve              normal
//	free <  Reserve              Low: transfers leaderships, refuses proposals as leader but reserved ones, follows on
//	free <  Reserve/2, 256 MiB   the ballast file is deleted, so that what is in memory can be flushed
//	free <  Reserve/4, 128 MiB   Full: no reserved proposals, stores no more than 1 MiB from a leader; votes, serves reads
//
// The last MiB is for entries that are on their way when all nodes become Low at once: they must be committed, or no
// node elected later could become ready and answer reads. Low ends by itself when a tenth more than the reserve is free
// and the ballast file is back. Pebble must never meet a full disk: it would repeat a flush for ever, and end the
// process on a commit.
type Space struct {
	Watched  bool   // False: the file system reports no free space, or Config.Reserve is ReserveOff. Then the rest is zero.
	Free     uint64 // Bytes that an ordinary user may still write.
	Total    uint64 // Size of the disk in bytes.
	Reserve  uint64 // Free bytes below which the node is Low.
	Ballast  uint64 // Bytes of the ballast file.
	Low      bool
	Full     bool
	Since    time.Time // When Low last changed; zero: never.
	LowCount uint64    // How often the node became low since it started.
}

// space watches the free space of the disk.
type space struct {
	store *Store
	low   atomic.Bool
	full  atomic.Bool
	since moment.Last // When low last changed.

	mark         atomic.Uint64 // Free bytes below which the node is Full; 0: free space is not watched.
	quotaUsed    atomic.Int64  // Bytes of commands stored while Full.
	fullPeriod   atomic.Uint64 // Changes with each measurement at which the node is not Full.
	transferring atomic.Bool   // BOUND: one round of transfers at a time.

	mu   sync.Mutex // One measurement at a time.
	last Space
}

// Space returns the result of the last measurement. It takes a mutex and measures nothing.
func (s *Store) Space() Space {
	s.space.mu.Lock()
	defer s.space.mu.Unlock()
	return s.space.last
}

// watch measures free space every Config.SpaceInterval until the store closes.
func (p *space) watch() {
	if !p.store.Space().Watched {
		return
	}
	for p.store.ctx.Err() == nil {
		p.store.pause(p.store.c.SpaceInterval)
		p.measure()
		if p.low.Load() && p.transferring.CompareAndSwap(false, true) {
			p.store.background.Go(p.transferAll)
		}
	}
}

// measure measures free space and moves between the states of Space.
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
			c.Logger.Warn("free_space_unmeasurable", slog.Any("err", err))
		}
		return // The state of the last measurement stays.
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
		p.quotaUsed.Store(0)
		p.fullPeriod.Add(1)
	}
	if low != now.Low {
		p.setLow(low)
	}
}

// setLow enters or leaves the state Low. LOCKS: mu is held.
func (p *space) setLow(low bool) {
	now := &p.last
	now.Low, now.Since = low, time.Now()
	p.since.Mark()
	p.low.Store(low)
	attrs := []any{slog.Uint64("free_bytes", now.Free), slog.Uint64("reserve_bytes", now.Reserve)}
	if low {
		now.LowCount++
		p.store.c.Logger.Error("disk_space_low", append(attrs, slog.String("action", "free space on the disk; until then this node takes no writes"))...)
		return
	}
	p.store.c.Logger.Info("disk_space_recovered", attrs...)
}

// usage returns the usage of the disk with less free space.
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
	return max(total/reserveShare, reserveBytesMin, reserveSnapshots*uint64(newest))
}

// avoidsLeadership reports whether this node leaves leadership to others: it drains, or its clock is wrong.
func (s *Store) avoidsLeadership() bool { return s.draining.Load() || s.clocks.wrong.Load() }

// admission limits what Raft of a group may do while the disk is nearly full, and while this node avoids leadership.
func (p *space) admission(g *Group) transport.Admission {
	return transport.Admission{
		// Other nodes go first. But when no node is elected for a while, because all voters are low or the only
		// complete log is here, a leader that refuses writes is better than none: followers catch up with it, and reads
		// have an answer.
		MayCampaign: func() bool {
			contact, _ := g.safe.LeaderContact()
			if p.store.avoidsLeadership() && time.Since(contact) < drainCampaignDelay {
				return false // After that time it campaigns, and transfers the leadership when the others have its log.
			}
			if !p.low.Load() {
				return true
			}
			return time.Since(contact) > lowCampaignDelay && time.Since(p.since.Time()) > lowCampaignDelay
		},
		MayLead: func() bool { return !p.low.Load() && !p.store.avoidsLeadership() },
		MayStore: func(term uint64, entries []*raft.Log) bool {
			return !p.full.Load() || g.fullQuota.admit(p, term, entriesToAppend(g.log, entries))
		},
		MayInstall: p.mayInstall,
	}
}

// transferAll transfers the leaderships of this node to voters that take them. A group that no voter takes stays here
// and refuses writes.
func (p *space) transferAll() {
	defer p.transferring.Store(false)
	for _, g := range p.store.groups {
		if g.raft.State() == raft.Leader {
			_ = g.transferAway() // The next round tries again.
		}
	}
	p.store.pause(transferPause)
}

// proposeLocal commits a command as the leader, or returns ErrNoSpace while this node is Low.
func (g *Group) proposeLocal(ctx context.Context, cmd []byte) (result []byte, index uint64, err error) {
	if g.store.space.low.Load() {
		return nil, 0, ErrNoSpace
	}
	return g.batcher.Propose(ctx, cmd)
}

// ProposeReserved commits a command that a cluster needs in order to serve reads, such as the leader's time, from the
// reserve of the disk: also while this node is Low, until it is Full. Without such commands the replicas of nodes that
// are all Low would count as stale, and nothing would be sold although nothing is wrong with them.
//
// Only the ready leader takes it, and nothing is forwarded or repeated, because the caller has another command soon.
// Errors are those of Propose: ErrNotLeader when this node is not ready as leader, and ErrNoSpace when it is Full,
// among those that mean that nothing was applied.
// REQUIRES: such commands are small and few, because each one is written where space is short.
func (g *Group) ProposeReserved(ctx context.Context, cmd []byte) (result []byte, err error) {
	switch {
	case !g.Ready():
		return nil, ErrNotLeader
	case g.store.space.full.Load():
		return nil, ErrNoSpace
	}
	result, _, err = g.batcher.Propose(ctx, cmd)
	return result, err
}
