package limits

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const gib = 1 << 30

func TestDerive(t *testing.T) {
	for name, tc := range map[string]struct {
		machine  Machine
		settings Settings
		want     Shares
	}{
		"a few files": {
			Machine{Files: 256, Memory: gib},
			Settings{},
			Shares{74, 9, 8, 0, true, 966367642, 128 << 20, 128 << 20, 64 << 20},
		},
		"1,024 files and 1 GiB": {
			Machine{Files: 1024, Memory: gib, Peers: true},
			Settings{},
			Shares{128, 378, 126, 84, false, 966367642, 128 << 20, 128 << 20, 64 << 20},
		},
		"a server": {
			Machine{Files: 1 << 20, Memory: 64 * gib, Peers: true},
			Settings{},
			Shares{1000, 50_000, 10_000, 4_096, false, 61847529063, 1 << 30, 4 << 30, 2 << 30},
		},
		"less memory than files": {
			Machine{Files: 1 << 20, Memory: gib},
			Settings{},
			Shares{1000, 2048, 512, 0, false, 966367642, 128 << 20, 128 << 20, 64 << 20},
		},
		"no files": {
			Machine{Files: 10, Memory: 64 << 20, Peers: true},
			Settings{},
			Shares{74, 8, 8, 64, true, 60397978, 64 << 20, 16 << 20, 8 << 20},
		},
		"no limit at all": {
			Machine{Files: math.MaxUint64, Memory: math.MaxInt64 / 2},
			Settings{},
			Shares{1000, 50_000, 10_000, 0, false, math.MaxInt64/2 - math.MaxInt64/2/10, 1 << 30, 4 << 30, 2 << 30},
		},
		"settings": {
			Machine{Files: 1024, Memory: gib, Peers: true},
			Settings{Auction: 3, Management: 4, Peer: 5},
			Shares{128, 3, 4, 5, false, 966367642, 128 << 20, 128 << 20, 64 << 20},
		},
	} {
		if got := Derive(tc.machine, tc.settings); got != tc.want {
			t.Errorf("%s:\n %+v, want\n %+v", name, got, tc.want)
		}
	}
}

// TestSharesFit checks that all shares together do not exceed the number of files, if there are at least 420.
func TestSharesFit(t *testing.T) {
	for files := uint64(420); files < 1<<20; files += files/10 + 1 {
		s := Derive(Machine{Files: files, Memory: 64 * gib, Peers: true}, Settings{})
		if sum := ownFiles + 2*s.DatabaseFiles + s.AuctionConns + s.ManageConns + 2*s.PeerConns; uint64(sum) > files {
			t.Fatalf("%d files: the shares are %d: %+v", files, sum, s)
		}
	}
}

func TestDefaultMemory(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing known":   {nil, memoryUnknown},
		"the machine":     {map[string]string{"proc/meminfo": "MemTotal:       4194304 kB\nMemFree: 1 kB\n"}, 3 * gib},
		"a container":     {map[string]string{"proc/meminfo": "MemTotal: 4194304 kB\n", "sys/fs/cgroup/memory.max": "1073741824\n"}, gib},
		"no limit in it":  {map[string]string{"proc/meminfo": "MemTotal: 4194304 kB\n", "sys/fs/cgroup/memory.max": "max\n"}, 3 * gib},
		"the first form":  {map[string]string{"proc/meminfo": "MemTotal: 4194304 kB\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824"}, gib},
		"limit of no use": {map[string]string{"proc/meminfo": "MemTotal: 4194304 kB\n", "sys/fs/cgroup/memory.max": "9223372036854771712"}, 3 * gib},
		"a group above": {map[string]string{
			"proc/meminfo": "MemTotal: 4194304 kB\n", "proc/self/cgroup": "0::/slice/service\n",
			"sys/fs/cgroup/slice/memory.max": "1073741824", "sys/fs/cgroup/slice/service/memory.max": "2147483648",
		}, gib},
		"a group of the first form": {map[string]string{
			"proc/meminfo": "MemTotal: 4194304 kB\n", "proc/self/cgroup": "3:cpu:/x\n2:memory:/service\n",
			"sys/fs/cgroup/memory/service/memory.limit_in_bytes": "1073741824",
		}, gib},
	} {
		root := t.TempDir()
		for file, text := range tc.files {
			path := filepath.Join(root, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := DefaultMemory(root); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

func TestBytes(t *testing.T) {
	b := NewBytes(100, 60)
	one, other, third := b.Lease(1), b.Lease(2), b.Lease(1)
	for i, step := range []struct {
		lease *Lease
		n     int64
		good  bool
	}{
		{&one, 50, true}, {&one, 40, true}, {&third, 11, false}, {&third, 10, true}, {&other, 41, false}, {&other, 40, true}, {&one, 51, false},
	} {
		if step.lease.Grow(step.n) != step.good {
			t.Errorf("step %d: to %d bytes: %v", i, step.n, !step.good)
		}
	}
	if s := b.Stats(); s != (BytesStats{100, 100, 3}) {
		t.Errorf("%+v", s)
	}
	for _, l := range []*Lease{&one, &other, &third, &one} {
		l.Release()
	}
	if s := b.Stats(); s.Used != 0 || len(b.byMarketplace) != 0 {
		t.Errorf("%+v, %v", s, b.byMarketplace)
	}
	var none *Bytes
	if l := none.Lease(1); !l.Grow(1<<60) || none.Stats() != (BytesStats{}) {
		t.Error("no budget allows everything")
	}
}

func TestBytesFromManySides(t *testing.T) {
	b := NewBytes(1000, 100)
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			for range 200 {
				l := b.Lease(uint16(i % 7))
				l.Grow(30)
				l.Grow(60)
				l.Release()
			}
		})
	}
	all.Wait()
	if s := b.Stats(); s.Used != 0 {
		t.Errorf("%+v", s)
	}
}

// TestBodiesGrowWithWhatArrives checks that the buffer of a body and its lease grow with the bytes received.
func TestBodiesGrowWithWhatArrives(t *testing.T) {
	const most = 4 << 20
	for _, size := range []int{0, 1, bodyStep - 1, bodyStep, bodyStep + 1, 100_000, most - 1, most} {
		b := NewBytes(1<<40, 1<<40)
		lease := b.Lease(1)
		want := bytes.Repeat([]byte("x"), size)
		got, err := AppendBody(nil, bytes.NewReader(want), most, &lease, 2)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes: %d, %v", size, len(got), err)
		}
		if used := b.Stats().Used; used != 2*int64(cap(got)) || cap(got) > max(2*size, bodyStep)+1 {
			t.Errorf("%d bytes: a buffer of %d, a lease of %d", size, cap(got), used)
		}
	}
}

func TestBodiesEnd(t *testing.T) {
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		from   io.Reader
		budget int64
		want   error
	}{
		"one byte too many": {strings.NewReader(strings.Repeat("x", 100_001)), 1 << 30, ErrTooLarge},
		"far too many":      {strings.NewReader(strings.Repeat("x", 10_000_000)), 1 << 30, ErrTooLarge},
		"broken":            {io.MultiReader(strings.NewReader("abc"), errorReader{broken}), 1 << 30, broken},
		"no budget":         {strings.NewReader("abc"), bodyStep - 1, ErrBudget},
		"budget used up":    {strings.NewReader(strings.Repeat("x", 100_000)), 3 * bodyStep, ErrBudget},
	} {
		lease := NewBytes(tc.budget, tc.budget).Lease(1)
		got, err := AppendBody(nil, tc.from, 100_000, &lease, 1)
		if !errors.Is(err, tc.want) || len(got) > 100_001 {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }
