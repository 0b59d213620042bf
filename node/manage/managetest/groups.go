package managetest

import (
	"bytes"
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gavel-ads/gavel/node/auth"
	"github.com/gavel-ads/gavel/node/store"
	"github.com/gavel-ads/gavel/shard"
	"github.com/gavel-ads/gavel/shard/bidid"
	"github.com/gavel-ads/gavel/shard/command"
	"github.com/gavel-ads/gavel/shard/ids"
	"github.com/gavel-ads/gavel/shard/market"
	"github.com/gavel-ads/gavel/shard/shardtest"
)

// feed receives the changes of the state machines, like the daemon's feed.
type feed struct {
	*market.Market
	keys    *auth.Table
	keyring atomic.Pointer[bidid.Keyring]
	bytes   store.AssetBytes
}

// PutRecord receives API keys and the records that decide which ads may be shown.
func (f *feed) PutRecord(kind command.RecordKind, marketplace uint16, id string, value []byte) {
	f.bytes.PutRecord(kind, marketplace, id, value)
	switch {
	case kind != command.RecordAPIKey:
		store.PublishCreative(f.Market, PublicURL, kind, marketplace, id, value)
	case value == nil:
		f.keys.Delete(id)
	default:
		if err := f.keys.Put(id, value); err != nil {
			panic(err)
		}
	}
}

// PutSecrets receives the keys of bid tokens.
func (f *feed) PutSecrets(s *command.Secrets) {
	keys := make([]bidid.Key, len(s.Token))
	for i, k := range s.Token {
		keys[i] = bidid.Key{ID: k.ID, Key: k.Key}
	}
	f.keyring.Store(bidid.NewKeyring(keys))
}

// PutPeriods and PutCounted receive what only the pacing controller uses.
func (f *feed) PutPeriods(ids.Group, *command.Periods) {}

// PutCounted does nothing.
func (f *feed) PutCounted(ids.Group, *command.CountedReport) {}

// groups are the state machines of all groups. LOCKS: mu guards them all.
type groups struct {
	ids.Topology
	down     atomic.Bool
	broken   atomic.Bool
	before   atomic.Pointer[func()]
	counts   atomic.Bool // If true, only as many writes as left says succeed.
	left     atomic.Int64
	done     atomic.Int64 // The number of commands that were carried out.
	records  atomic.Bool  // If true, commands has those that were carried out.
	mu       sync.Mutex
	commands [][]byte
	machines map[ids.Group]*member
}

type member struct {
	machine *shard.Machine
	kv      *shardtest.KV
}

func newGroups(t testing.TB, f shard.Feed) *groups {
	t.Helper()
	g := &groups{Topology: ids.Topology{DataGroups: 4}, machines: map[ids.Group]*member{}}
	for _, id := range g.Groups() {
		m := &member{machine: shard.New(id, id == g.Meta(), f), kv: shardtest.NewKV()}
		if err := m.machine.Load(m.kv); err != nil {
			t.Fatal(err)
		}
		g.machines[id] = m
	}
	return g
}

// Propose applies a command.
func (g *groups) Propose(_ context.Context, id ids.Group, cmd []byte) ([]byte, error) {
	if g.down.Load() || g.counts.Load() && g.left.Add(-1) < 0 {
		return nil, store.ErrUnavailable
	}
	if first := g.before.Swap(nil); first != nil {
		(*first)()
	}
	runtime.Gosched() // On a node a commit takes a while, during which other requests run.
	g.mu.Lock()
	defer g.mu.Unlock()
	m := g.machines[id]
	batch := m.kv.Batch()
	result := bytes.Clone(m.machine.Apply(batch, cmd))
	m.machine.Flush(batch)
	batch.Commit()
	m.machine.Committed()
	if len(result) > 0 && command.Refusal(result[0]) == command.Done {
		g.done.Add(1)
		if g.records.Load() {
			g.commands = append(g.commands, bytes.Clone(cmd))
		}
	}
	return result, nil
}

// ProposeAt applies a command. There is no log, so the index is always 0.
func (g *groups) ProposeAt(ctx context.Context, id ids.Group, cmd []byte) ([]byte, uint64, error) {
	result, err := g.Propose(ctx, id, cmd)
	return result, 0, err
}

// Barrier fails as long as writes fail, because both need a leader.
func (g *groups) Barrier(context.Context, ids.Group) error {
	if g.down.Load() {
		return store.ErrUnavailable
	}
	return nil
}

// Read reads a group's state.
func (g *groups) Read(id ids.Group, fn func(shard.Reader) error) error {
	if g.broken.Load() {
		panic("broken on purpose")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return fn(g.machines[id].kv)
}

// ReadWritten is Read: every batch is written at once.
func (g *groups) ReadWritten(id ids.Group, fn func(shard.Reader) error) error { return g.Read(id, fn) }

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
