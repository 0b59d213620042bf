package raftstore_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/gavel-ads/gavel/raftstore"
)

const eioCommands = 24

// eioPerClass is how many calls of each class of calls fail, one in each run.
const eioPerClass = 4

// failing fails one call: the nth of its class. In every second run all later calls of the class fail as well.
type failing struct {
	mu     sync.Mutex
	class  string
	nth    int
	sticky bool
	seen   map[string]int
	hit    bool
}

// classOf names a call by what it does to which kind of file; an empty class is a read. The syncs of Pebble's
// directories are left out: Pebble panics when one fails, which ends the process as well, but would end the test with
// it.
func classOf(op errorfs.Op) string {
	if op.Kind.ReadOrWrite() != errorfs.OpIsWrite || op.Path == "node/LOCK" || op.Path == "node/raftlog" || op.Path == "node/state" {
		return ""
	}
	dir := strings.TrimPrefix(op.Path, "node/")
	dir, _, _ = strings.Cut(dir, "/")
	name := path.Base(op.Path)
	kind := path.Ext(name)
	if strings.HasPrefix(name, "MANIFEST") || strings.HasPrefix(name, "marker.") || strings.HasPrefix(name, "OPTIONS") {
		kind = name[:8]
	}
	return fmt.Sprint(dir, " ", kind, " ", int(op.Kind))
}

func (f *failing) MaybeError(op errorfs.Op) error {
	class := classOf(op)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[class]++
	if class == "" || class != f.class || f.seen[class] < f.nth || f.hit && !f.sticky {
		return nil
	}
	f.hit = true
	return errDisk
}

func (f *failing) String() string { return f.class }

// run writes until the process would have ended, and returns the disk of that moment and what was acknowledged.
func (f *failing) run(t *testing.T) (disk *vfs.MemFS, acked int, how string) {
	mem := vfs.NewCrashableMem()
	c := snapshotting(config(errorfs.Wrap(mem, f), 1))
	var mu sync.Mutex
	gone := false
	exited := make(chan struct{})
	var once sync.Once
	c.Exit = func(int) {
		once.Do(func() {
			mu.Lock()
			disk, gone = mem.CrashClone(vfs.CrashCloneCfg{}), true
			mu.Unlock()
			close(exited)
		})
	}
	finished := make(chan string, 1)
	go func() {
		s, err := raftstore.Open(c)
		if err != nil {
			finished <- "refused"
			return
		}
		for s.Group(1).WaitReady(t.Context()) == nil {
			if _, err := s.Group(1).Propose(t.Context(), fmt.Append(nil, "k", acked)); err != nil {
				break
			}
			mu.Lock()
			if !gone {
				acked++
			}
			done := gone || acked == eioCommands
			mu.Unlock()
			if done {
				break
			}
			time.Sleep(time.Millisecond)
		}
		s.Close()
		finished <- "tolerated"
	}()
	select {
	case <-exited:
		mu.Lock()
		defer mu.Unlock()
		return disk, acked, "exit"
	case how = <-finished:
		return mem, acked, how
	case <-time.After(20 * time.Second): // Ends a test that hangs; nothing here takes a second.
		t.Fatalf("%s, call %d: neither ended nor went on", f.class, f.nth)
		return nil, 0, ""
	}
}

// eioParts is the number of processes that share the work. A process of the test must be gone 10 s after its first
// fault: Pebble then flushes deleted ranges, and panics in a store that an injected fault has ended.
const eioParts = 8

// An input/output error at every class of write to log, guard, state, snapshots and identity: the process ends, or
// refuses to start, or goes on because nothing depended on the call; and what was acknowledged is there at the next
// start.
func TestInputOutputErrors(t *testing.T) {
	if part, child := os.LookupEnv("GAVEL_EIO_PART"); child {
		outcomes := injectPart(t, part)
		fmt.Printf("eio %d %d %d\n", outcomes["exit"], outcomes["refused"], outcomes["tolerated"])
		return
	}
	var sum [3]int
	for part := range eioParts {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestInputOutputErrors$")
		cmd.Env = append(os.Environ(), fmt.Sprint("GAVEL_EIO_PART=", part))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("part %d: %v\n%s", part, err, out)
		}
		for line := range strings.Lines(string(out)) {
			var n [3]int
			if _, err := fmt.Sscanf(line, "eio %d %d %d", &n[0], &n[1], &n[2]); err == nil {
				sum = [3]int{sum[0] + n[0], sum[1] + n[1], sum[2] + n[2]}
			}
		}
	}
	t.Logf("%d processes ended, %d did not start, %d went on", sum[0], sum[1], sum[2])
	if sum[0] < 20 || sum[1] < 20 || sum[2] == 0 {
		t.Error("the faults do not reach the log")
	}
}

// injectPart fails the calls of the classes that belong to a part.
func injectPart(t *testing.T, part string) map[string]int {
	counting := &failing{seen: map[string]int{}}
	if _, acked, how := counting.run(t); how != "tolerated" || acked != eioCommands {
		t.Fatalf("without a fault: %s, %d acknowledged", how, acked)
	}
	outcomes := map[string]int{}
	for class, calls := range counting.seen {
		if class == "" || fmt.Sprint(xxhash.Sum64String(class)%eioParts) != part {
			continue
		}
		for i := range min(calls, eioPerClass) {
			f := &failing{class: class, nth: 1 + i*calls/eioPerClass, sticky: i%2 == 1, seen: map[string]int{}}
			disk, acked, how := f.run(t)
			if !f.hit {
				continue // Fewer calls of the class in this run.
			}
			outcomes[how]++
			verifyCommands(t, disk, acked, fmt.Sprintf("%s, call %d, %s", class, f.nth, how))
		}
	}
	return outcomes
}

func verifyCommands(t *testing.T, disk vfs.FS, acked int, what string) {
	t.Helper()
	s, err := raftstore.Open(config(disk, 1))
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	defer closeStore(t, s)
	if err := s.Group(1).WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = s.Group(1).Read(func(r raftstore.Reader) error {
		for i := range acked + 1 {
			var n uint64
			if v, found := r.Get(fmt.Append(nil, "k", i)); found {
				n = binary.BigEndian.Uint64(v)
			}
			if n != 1 && !(n == 0 && i == acked) {
				t.Errorf("%s: command %d of %d is applied %d times", what, i, acked, n)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
