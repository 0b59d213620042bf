package raftstore_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

const mib = 1 << 20

// small gives a configuration a disk of 256 MiB with a reserve of 64 and a ballast of 8.
func small(c *raftstore.Config) *raftstoretest.SmallDisk {
	d := raftstoretest.NewSmallDisk(c.FS, "node", 256*mib)
	c.FS, c.Reserve, c.Ballast = d, 64*mib, 8*mib
	return d
}

func sizeOf(fs vfs.FS, path string) int64 {
	info, err := fs.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// A lone node on a disk that fills up refuses writes and answers reads, deletes its ballast file before the disk is
// full, starts on a full disk, and goes on by itself when there is space. Pebble never meets a full disk.
func TestLoneNodeOnAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := vfs.NewMem()
		c := config(mem, 1)
		d := small(&c)
		exits := 0
		c.Exit = func(int) { exits++; select {} }
		s := open(t, c)
		g := s.Group(1)
		propose(t, g, "a")
		if got := s.Space(); got.Low || !got.Watched || got.Ballast != 8*mib || got.Reserve != 64*mib || got.Total != 256*mib {
			t.Errorf("with space: %+v", got)
		}
		refuses := func(what string) {
			t.Helper()
			began := time.Now()
			if _, err := g.Propose(t.Context(), []byte("a")); !errors.Is(err, raftstore.ErrNoSpace) || errors.Is(err, raftstore.ErrUnknown) {
				t.Errorf("%s: %v", what, err)
			}
			if waited := time.Since(began); waited > time.Second {
				t.Errorf("%s: refused after %s", what, waited)
			}
			if n := read(t, g, "a"); n != 1 {
				t.Errorf("%s: %d", what, n)
			}
			if err := g.ReadBarrier(t.Context()); err != nil {
				t.Errorf("%s: read barrier: %v", what, err)
			}
		}
		d.FillUpTo(63 * mib)
		time.Sleep(1100 * time.Millisecond)
		refuses("below the reserve")
		if got := s.Space(); !got.Low || got.Full || got.Ballast != 8*mib || got.LowCount != 1 {
			t.Errorf("below the reserve: %+v", got)
		}
		d.FillUpTo(66 * mib)
		time.Sleep(1100 * time.Millisecond)
		refuses("little more than the reserve")

		d.FillUpTo(0)
		time.Sleep(1100 * time.Millisecond)
		refuses("full")
		if got := s.Space(); !got.Full || got.Ballast != 0 || sizeOf(mem, "node/ballast") != 0 {
			t.Errorf("full: %+v", got)
		}
		closeStore(t, s)

		d.FillUpTo(5 * mib) // Nearly as before: the close flushed something.
		s = open(t, c)
		g = s.Group(1)
		refuses("started on a full disk")

		d.Fill(0)
		time.Sleep(2100 * time.Millisecond)
		if n := propose(t, g, "a"); n != 2 {
			t.Errorf("with space again: %d", n)
		}
		if got := s.Space(); got.Low || got.Full || got.Ballast != 8*mib || sizeOf(mem, "node/ballast") != 8*mib {
			t.Errorf("with space again: %+v", got)
		}
		if d.Failures() != 0 || exits != 0 {
			t.Errorf("%d writes met a full disk, %d exits", d.Failures(), exits)
		}
		closeStore(t, s)
	})
}

// A node that was killed on a disk without a free byte starts: deleting the ballast file frees what a start writes.
func TestBallastMakesRoomForAStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := vfs.NewCrashableMem()
		c := config(mem, 1)
		small(&c)
		s := open(t, c)
		propose(t, s.Group(1), "a")
		c.FS = mem.CrashClone(vfs.CrashCloneCfg{})
		closeStore(t, s)

		d := small(&c)
		d.FillUpTo(0)
		if got := sizeOf(c.FS, "node/ballast"); got != 8*mib {
			t.Fatalf("a ballast of %d bytes", got)
		}
		s = open(t, c)
		if n := read(t, s.Group(1), "a"); n != 1 || sizeOf(c.FS, "node/ballast") != 0 || d.Failures() != 0 {
			t.Errorf("count %d, ballast %d, %d writes met a full disk", n, sizeOf(c.FS, "node/ballast"), d.Failures())
		}
		closeStore(t, s)
	})
}

// smallCluster is three nodes on small disks.
func smallCluster(t *testing.T, seed uint64) (c *raftstoretest.Cluster, disks []*raftstoretest.SmallDisk) {
	c = raftstoretest.NewCluster(t, seed, 3)
	disks = make([]*raftstoretest.SmallDisk, 3)
	c.Configure = func(i int, config *raftstore.Config) {
		old := disks[i]
		disks[i] = small(config)
		if old != nil {
			disks[i].Fill(old.Other())
		}
	}
	startAll(t, c, 3)
	return c, disks
}

// A leader that runs out of space transfers its leadership and does not lead again, while it goes on following; callers
// at every node notice nothing. With space it may lead again.
func TestLeaderWithoutSpaceTransfersLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, disks := smallCluster(t, 11)
		place(t, c, 0, 1)
		poor := leader(c)
		disks[poor].FillUpTo(40 * mib)
		time.Sleep(3 * time.Second)
		if now := leader(c); now == poor || now < 0 {
			t.Fatalf("node %d leads with a nearly full disk, now %d", poor, now)
		}
		for id := range uint64(6) {
			if got := place(t, c, int(id)%3, id+2); got != id+2 {
				t.Errorf("id %d has place %d", id+2, got)
			}
		}
		// The leader ends, and the other node with space must win, with the vote of the one without.
		second := leader(c)
		c.Crash(second)
		if got := place(t, c, poor, 100); got != 8 {
			t.Errorf("place %d", got)
		}
		if now := leader(c); now == poor {
			t.Error("the poor node leads")
		}
		if !c.Start(second, c.Seeds(3)) {
			t.Fatal("does not start")
		}
		// The leadership cannot be transferred to it either.
		s, _ := c.Store(second)
		if err := s.Transfer(t.Context(), 1, c.Nodes[poor].ID); err == nil {
			t.Error("the poor node took a leadership")
		}
		disks[poor].Fill(0)
		time.Sleep(3 * time.Second)
		if err := s.Transfer(t.Context(), 1, c.Nodes[poor].ID); err != nil {
			t.Errorf("with space again: %v", err)
		}
		if got := place(t, c, second, 101); got != 9 {
			t.Errorf("place %d", got)
		}
		stopAll(c)
	})
}

// All voters without space: writes are refused soon, at every node, and not unknown; reads go on; no process ends; a
// restart of all changes nothing; with space everything goes on.
func TestAllNodesWithoutSpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, disks := smallCluster(t, 12)
		place(t, c, 0, 1)
		for _, d := range disks {
			d.FillUpTo(mib)
		}
		time.Sleep(3 * time.Second)
		refused := func(what string) {
			t.Helper()
			for i := range 3 {
				s, _ := c.Store(i)
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				if _, err := s.Group(1).Propose(ctx, raftstoretest.LedgerCommand(2)); !errors.Is(err, raftstore.ErrNoSpace) {
					t.Errorf("%s, node %d: %v", what, i, err)
				}
				if err := s.Group(1).ReadBarrier(ctx); err != nil {
					t.Errorf("%s, node %d: read barrier: %v", what, i, err)
				}
				cancel()
			}
		}
		refused("running")
		stopAll(c)
		startAll(t, c, 3)
		time.Sleep(20 * time.Second) // No node campaigns at first; then one does.
		refused("restarted")
		for _, d := range disks {
			d.Fill(0)
		}
		time.Sleep(3 * time.Second)
		if got := place(t, c, 0, 2); got != 2 {
			t.Errorf("place %d", got)
		}
		for i, d := range disks {
			if d.Failures() != 0 || c.Exits.Load() != 0 {
				t.Errorf("node %d: %d writes met a full disk, %d exits", i, d.Failures(), c.Exits.Load())
			}
		}
		stopAll(c)
	})
}

// A follower whose disk is full stores a little and no more, still votes, and catches up when there is space.
func TestFullFollowerTakesLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, disks := smallCluster(t, 13)
		place(t, c, 0, 1)
		poor := (leader(c) + 1) % 3
		disks[poor].FillUpTo(2 * mib)
		time.Sleep(2 * time.Second)
		s, _ := c.Store(leader(c))
		for range 100 { // 6 MB.
			if _, err := s.Group(1).Propose(t.Context(), make([]byte, 60_000)); err != nil {
				t.Fatal(err)
			}
		}
		place(t, c, leader(c), 2)
		if got := c.Ledger(poor).Len(); got != 1 {
			t.Errorf("the full node has %d places", got)
		}
		if disks[poor].Failures() != 0 {
			t.Errorf("%d writes met a full disk", disks[poor].Failures())
		}
		disks[poor].Fill(0)
		time.Sleep(15 * time.Second)
		if got := c.Ledger(poor).Len(); got != 2 {
			t.Errorf("with space the node has %d places", got)
		}
		stopAll(c)
	})
}

// A real ext4 of 128 MiB, filled to the last byte by another writer under load: the node refuses, starts again, and
// goes on.
func TestRealFullDisk(t *testing.T) {
	dir := mountExt4(t, 128)
	c := config(nil, 1)
	c.Dir, c.Reserve, c.Ballast, c.SpaceInterval = filepath.Join(dir, "node"), 48*mib, 16*mib, 200*time.Millisecond
	if err := os.Mkdir(c.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := open(t, c)
	acked := uint64(0)
	until := func(what string, done func() bool) {
		t.Helper()
		for began := time.Now(); !done(); time.Sleep(10 * time.Millisecond) {
			if time.Since(began) > time.Minute { // Ends a test that hangs.
				t.Fatalf("%s: %+v", what, s.Space())
			}
		}
	}
	for range 100 {
		acked = propose(t, s.Group(1), "a")
	}
	filler := filepath.Join(dir, "filler")
	fill(t, filler)
	until("full", func() bool { return s.Space().Low && s.Space().Ballast == 0 })
	if _, err := s.Group(1).Propose(t.Context(), []byte("a")); !errors.Is(err, raftstore.ErrNoSpace) {
		t.Errorf("on a full disk: %v", err)
	}
	closeStore(t, s)
	s = open(t, c)
	if n := read(t, s.Group(1), "a"); n != acked {
		t.Errorf("%d of %d after a start on a full disk", n, acked)
	}
	if _, err := s.Group(1).Propose(t.Context(), []byte("a")); !errors.Is(err, raftstore.ErrNoSpace) {
		t.Errorf("after a start on a full disk: %v", err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	until("space again", func() bool { return !s.Space().Low })
	if n := propose(t, s.Group(1), "a"); n != acked+1 {
		t.Errorf("with space again: %d", n)
	}
	closeStore(t, s)
}

// fill takes all blocks at once, so that free space is not measured in between.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := vfs.Default.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	at := int64(0)
	for block := int64(64 * mib); block >= 4096; {
		if f.Preallocate(at, block) == nil {
			at += block
		} else {
			block /= 2
		}
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// mountExt4 mounts a new file system of some MiB, or skips the test where that is not possible.
func mountExt4(t *testing.T, mibs int64) (dir string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: a real full disk needs root for a loop mount")
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		t.Skip("SKIPPED: a real full disk needs /dev/loop-control")
	}
	image := filepath.Join(t.TempDir(), "image")
	dir = t.TempDir()
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, mibs*mib); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"mkfs.ext4", "-q", "-F", image}, {"mount", "-o", "loop", image, dir}} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Skipf("SKIPPED: a real full disk needs %s: %v: %s", args[0], err, out)
		}
	}
	t.Cleanup(func() {
		if out, err := exec.CommandContext(context.WithoutCancel(t.Context()), "umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir
}
