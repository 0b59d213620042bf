package raftstore_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

// change rewrites every file of a node whose path below its directory has the prefix and one of the suffixes.
func change(t *testing.T, fs vfs.FS, prefix string, suffixes []string, how func([]byte) []byte) {
	t.Helper()
	changed, kinds := 0, map[string][]string{}
	files(t, fs, "node", kinds)
	for _, paths := range kinds {
		for _, p := range paths {
			hasSuffix := func(suffix string) bool { return strings.HasSuffix(p, suffix) }
			if strings.HasPrefix(p, "node/"+prefix) && slices.ContainsFunc(suffixes, hasSuffix) {
				rewrite(t, fs, p, how)
				changed++
			}
		}
	}
	if changed == 0 {
		t.Errorf("no file %s*%q: the test damages nothing", prefix, suffixes)
	}
}

// client proposes one id after the other through a node until the test ends it, and records which ones were
// acknowledged.
type client struct {
	through atomic.Int64
	stop    atomic.Bool
	acked   atomic.Uint64 // All ids up to it are acknowledged.
	longest time.Duration // The longest time between two acknowledgements.
	done    sync.WaitGroup
}

func (cl *client) run(c *raftstoretest.Cluster) {
	last := time.Now()
	for !cl.stop.Load() {
		if s, _ := c.Store(int(cl.through.Load())); s != nil {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			_, err := s.Group(1).Propose(ctx, raftstoretest.LedgerCommand(cl.acked.Load()+1))
			cancel()
			if err == nil {
				cl.acked.Add(1)
				cl.longest = max(cl.longest, time.Since(last))
				last = time.Now()
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// The files of one node after the other are damaged, one kind after the other, while commands are acknowledged (promise
// P15, corruption): log, tail guard and state keep the node from starting. The state is rebuilt when it is deleted,
// everything else when the whole directory is: the node joins by itself and has everything, and no acknowledged command
// is lost anywhere. A state that turns out to be corrupt when it is read ends the process; Pebble cannot be closed
// after that, so TestDamagedFilesAreRefusedOrHarmless covers it outside of a bubble. Corrupt snapshots of a leader are
// in snapshots_test.go.
func TestDamagedNodesComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &damageRun{T: t, c: raftstoretest.NewCluster(t, 44, 3)}
		r.c.Configure = func(_ int, config *raftstore.Config) {
			config.SnapshotInterval, config.SnapshotThreshold, config.TrailingLogs = time.Second, 20, 10
			config.JoinSettle = time.Second
		}
		r.c.Failed = func(_ int, err error) { r.refused = err }
		startAll(t, r.c, 3)
		r.client.done.Go(func() { r.client.run(r.c) })
		for _, leads := range []bool{false, true} {
			r.stopAndDamage(leads, "raftlog/", ".log", ".sst")
			r.stopAndDamage(leads, "guard", "")
			r.damageState(leads)
		}
		r.client.stop.Store(true)
		r.client.done.Wait()
		acked := r.client.acked.Load()
		t.Logf("%d commands, at most %s between two", acked, r.client.longest)
		for i := range r.c.Nodes {
			r.whole(i)
			for id := uint64(1); id <= acked; id++ {
				if got := r.c.Ledger(i).Place(id); got != id {
					t.Fatalf("command %d has place %d on node %d", id, got, i)
				}
			}
		}
		stopAll(r.c)
	})
}

type damageRun struct {
	*testing.T
	c       *raftstoretest.Cluster
	client  client
	refused error // The error of the last start.
}

// choose waits for tables, snapshots and log files, and chooses the node to damage, whose log then has entries that no
// snapshot has. The client uses another node.
func (r *damageRun) choose(leads bool) (damaged int) {
	time.Sleep(5 * time.Second)
	waitUntil(r.T, time.Minute, "a node leads", func() bool { return leader(r.c) >= 0 })
	damaged = leader(r.c)
	if !leads {
		damaged = (damaged + 1) % 3
	}
	r.client.through.Store(int64((damaged + 1) % 3))
	s, _ := r.c.Store(damaged)
	for taken := s.Group(1).Status().Snapshots; s.Group(1).Status().Snapshots == taken; {
		time.Sleep(20 * time.Millisecond)
	}
	time.Sleep(400 * time.Millisecond) // The next snapshot is taken after a second at least.
	return damaged
}

// whole waits until a node has everything that the others have acknowledged so far.
func (r *damageRun) whole(i int) {
	r.Helper()
	s, _ := r.c.Store(i)
	if err := s.Group(1).ReadBarrier(r.Context()); err != nil {
		r.Fatal(err)
	}
}

// refuses starts a damaged node, which must not come up.
func (r *damageRun) refuses(what string, damaged int, want error) {
	r.Helper()
	before := r.client.acked.Load()
	started := r.c.Start(damaged, r.c.Seeds(3))
	if started || want != nil && !errors.Is(r.refused, want) {
		r.Fatalf("%s: started %t, refused with %v", what, started, r.refused)
	}
	time.Sleep(5 * time.Second)
	if r.client.acked.Load() < before+10 {
		r.Errorf("%s: only %d commands were acknowledged meanwhile", what, r.client.acked.Load()-before)
	}
}

// rejoins empties the directory of a node, starts it, and waits until it votes and has everything.
func (r *damageRun) rejoins(what string, i int) {
	r.Helper()
	r.c.Nodes[i].Wipe()
	startEach(r.c, r.c.Seeds(3), i)
	waitUntil(r.T, time.Minute, what+": all vote again", func() bool { return up(r.c) == 3 && memberIDs(r.c, i) == "n1* n2* n3*" })
	r.whole(i)
}

// tenth returns what is left of a file.
func tenth(b []byte) []byte { return b[:len(b)/10] }

func (r *damageRun) stopAndDamage(leads bool, prefix string, suffixes ...string) {
	r.Helper()
	damaged := r.choose(leads)
	r.c.Crash(damaged)
	change(r.T, r.c.Nodes[damaged].Disk(), prefix, suffixes, tenth)
	r.refuses(prefix, damaged, raftstore.ErrDamaged)
	r.rejoins(prefix, damaged)
}

func (r *damageRun) damageState(leads bool) {
	r.Helper()
	damaged := r.choose(leads)
	r.c.Crash(damaged)
	disk := r.c.Nodes[damaged].Disk()
	change(r.T, disk, "state/", []string{".sst"}, tenth)
	r.refuses("the state", damaged, nil)
	if err := disk.RemoveAll("node/state"); err != nil {
		r.Fatal(err)
	}
	if !r.c.Start(damaged, r.c.Seeds(3)) {
		r.Fatalf("does not start without its state: %v", r.refused)
	}
	if rebuilt := stats(r.c, damaged).StatesRebuilt; rebuilt != 1 {
		r.Errorf("%d states were rebuilt", rebuilt)
	}
	r.whole(damaged)
}
