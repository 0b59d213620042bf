package raftstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/membership"
	"github.com/gavel-ads/gavel/raftstore/transport"
)

// startupCheck is the result of the start-up check.
type startupCheck struct {
	servers   raft.Configuration // The newest configuration, as Raft will find it; empty for a new group.
	keepState bool               // The state is at or past the newest snapshot, so Raft need not restore it.
}

// check decides whether the group may start with what lies on its disk. N is the index of the newest readable snapshot,
// S the index of the state inside it, A the index of the state database. It checks in this order:
//
//	log against its bounds and its guard       refuse: entries, a term or a vote were lost
//	first log entry <= N+1                     refuse: Raft would panic at the missing range
//	entries above N contiguous and decodable   refuse
//	the machine reports a newer state          refuse: the state is in order, the binary is too old
//	A <= max(last log entry, N)                refuse: the log lost entries that the state has; with AcceptLoss wipe it
//	A >= S and the digest is the stored one    start with the state as it is
//	else                                       wipe the state; snapshot and log rebuild it; counted
//
// A state that is to be wiped needs the snapshot, so the snapshot is read to its end first.
func (g *Group) check() (startupCheck, error) {
	var found startupCheck
	metas, err := g.snaps.List()
	if err != nil {
		return found, err
	}
	var newest, stateIndex uint64
	if len(metas) > 0 {
		newest = metas[0].Index
		found.servers = metas[0].Configuration
		h, err := g.snaps.Header(metas[0].ID)
		if err != nil {
			return found, fmt.Errorf("%w: snapshot %s: %w", ErrDamaged, metas[0].ID, err)
		}
		if h.Cluster != g.store.cluster || h.Group != g.id {
			return found, fmt.Errorf("%w: snapshot %s is of cluster %016x, group %d", ErrForeign, metas[0].ID, h.Cluster, h.Group)
		}
		stateIndex = h.Index
	}
	if err := g.checkLog(newest, &found); err != nil {
		return found, err
	}
	loadErr := g.machine.load()
	if tooNew(loadErr) {
		return found, loadErr
	}
	a := g.machine.stored.Load()
	last, _ := g.log.LastIndex()
	if a != nil && a.Index > max(last, newest) {
		if g.store.c.AcceptLoss { // Entries written from here on would be skipped as already applied.
			return found, g.rebuild(metas, errors.New("the loss of entries was accepted"))
		}
		return found, fmt.Errorf("%w: the state is at entry %d, the log ends at %d and the newest snapshot at %d", ErrDamaged, a.Index, last, newest)
	}
	if loadErr == nil && a.Index >= stateIndex {
		found.keepState = true
		return found, nil
	}
	return found, g.rebuild(metas, loadErr)
}

// tooNew reports whether a state machine returned an error whose method NewerState says that a newer binary wrote the
// state. The state is in order then, and a rebuild would meet the same commands again.
func tooNew(err error) bool {
	newer, says := errors.AsType[interface {
		error
		NewerState() bool
	}](err)
	return says && newer.NewerState()
}

func (g *Group) checkLog(newest uint64, found *startupCheck) error {
	if err := g.log.Check(newest); err != nil {
		return err
	}
	first, _ := g.log.FirstIndex()
	if first > newest+1 {
		return fmt.Errorf("%w: the log begins at entry %d, the newest readable snapshot ends at %d", ErrDamaged, first, newest)
	}
	if last, _ := g.log.LastIndex(); last != 0 && last < newest {
		// There was a crash between receiving a snapshot and deleting the log before it. The next entry would leave a
		// gap.
		if err := g.log.DeleteRange(first, last); err != nil {
			return err
		}
	}
	return g.log.Walk(newest+1, func(l *raft.Log) {
		if l.Type == raft.LogConfiguration {
			found.servers = raft.DecodeConfiguration(l.Data)
		}
	})
}

// rebuild wipes the state so that Raft restores the newest snapshot and replays the log. It returns ErrDamaged when
// that snapshot is not readable to its end.
func (g *Group) rebuild(metas []*raft.SnapshotMeta, why error) error {
	g.store.rebuilt++
	level := slog.LevelWarn
	if why == nil { // After a restore from a backup, or a crash while a snapshot of the leader was installed.
		level, why = slog.LevelInfo, errors.New("the newest snapshot is ahead of the state database")
	}
	g.store.c.Logger.Log(context.Background(), level, "state_rebuilding", slog.Int("group", int(g.id)), slog.Any("reason", why), slog.String("source", "snapshot and log"))
	if len(metas) > 0 {
		if _, err := g.snaps.Verify(metas[0].ID); err != nil {
			return fmt.Errorf("%w: the state has to be rebuilt, but snapshot %s: %w", ErrDamaged, metas[0].ID, err)
		}
	}
	return g.machine.wipe()
}

// bootstrap gives a new group its first voters: the founders, or this node alone. All founders write the same
// configuration.
func (g *Group) bootstrap(address transport.Address) (c raft.Configuration, err error) {
	may, err := g.log.CanBootstrap()
	if err != nil {
		return c, err
	}
	if !may {
		return c, fmt.Errorf("%w: the group has voted but has no configuration", ErrDamaged)
	}
	founders := g.store.identity.Voters
	if len(founders) == 0 {
		founders = []membership.Voter{{Server: g.store.identity.Server, Address: string(address)}}
	}
	for _, v := range founders {
		c.Servers = append(c.Servers, raft.Server{Suffrage: raft.Voter, ID: v.Server, Address: raft.ServerAddress(v.Address)})
	}
	return c, g.log.Bootstrap(c)
}
