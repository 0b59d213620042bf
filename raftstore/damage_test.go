package raftstore_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore"
)

// mutation damages a file.
type mutation struct {
	name string
	do   func(t *testing.T, fs vfs.FS, path string, size int64)
}

func mutations() (all []mutation) {
	for _, percent := range []int64{0, 10, 25, 50, 75, 90, 99} {
		all = append(all, mutation{fmt.Sprintf("bit flipped at %d%%", percent), func(t *testing.T, fs vfs.FS, p string, size int64) {
			flip(t, fs, p, min(size*percent/100, size-1), 1<<(percent%8))
		}})
	}
	for _, percent := range []int64{50, 99} {
		all = append(all, mutation{fmt.Sprintf("cut at %d%%", percent), func(t *testing.T, fs vfs.FS, p string, size int64) {
			rewrite(t, fs, p, func(b []byte) []byte { return b[:size*percent/100] })
		}})
	}
	all = append(all, mutation{"512 bytes zeroed", func(t *testing.T, fs vfs.FS, p string, size int64) {
		rewrite(t, fs, p, func(b []byte) []byte {
			clear(b[size/2 : min(size, size/2+512)])
			return b
		})
	}}, mutation{"deleted", func(t *testing.T, fs vfs.FS, p string, _ int64) {
		if err := fs.Remove(p); err != nil {
			t.Error(err)
		}
	}})
	return all
}

func rewrite(t *testing.T, fs vfs.FS, path string, change func([]byte) []byte) {
	t.Helper()
	b := contents(t, fs, path)
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(change(b)); err != nil {
		t.Fatal(err)
	}
	f.Close()
}

func contents(t *testing.T, fs vfs.FS, path string) []byte {
	t.Helper()
	f, err := fs.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, _ := f.Stat()
	b := make([]byte, info.Size())
	f.ReadAt(b, 0)
	return b
}

// files lists all files below a directory, by kind.
func files(t *testing.T, fs vfs.FS, dir string, kinds map[string][]string) {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		p := fs.PathJoin(dir, name)
		info, err := fs.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case info.IsDir():
			files(t, fs, p, kinds)
		case strings.HasPrefix(name, "marker."): // An empty file whose name is its content.
			kind := strings.TrimPrefix(path.Dir(p), "node/") + "/" + strings.TrimRight(name, "0123456789.")
			kinds[kind] = append(kinds[kind], p)
		case info.Size() > 0: // Locks are empty.
			kind := strings.TrimPrefix(path.Dir(p), "node/") + "/" + strings.TrimLeft(strings.TrimSuffix(name, path.Ext(name)), "0123456789-") + path.Ext(name)
			if strings.Contains(kind, "snapshots") {
				kind = "snapshots/" + name
			}
			kinds[strings.TrimRight(kind, "0123456789")] = append(kinds[strings.TrimRight(kind, "0123456789")], p)
		}
	}
}

// One damage at a time to every kind of file of a node: the node refuses to start, or nothing is lost. The disks are
// those of a node that closed, and of one that lost power after a moment without writes. The loss of the last batch
// before a power failure under load cannot be tested, because the guard holds the batch before it.
func TestDamagedFilesAreRefusedOrHarmless(t *testing.T) {
	disks := map[string]*vfs.MemFS{}
	mem := vfs.NewCrashableMem()
	const commands = 200
	for _, phase := range []string{"closed", "power lost"} {
		c := config(mem, 1)
		c.SnapshotInterval, c.SnapshotThreshold, c.TrailingLogs = 5*time.Millisecond, 60, 150
		s := open(t, c)
		for i := range commands / 2 {
			if i == 70 { // The last 30 commands are in no snapshot.
				for s.Group(1).Status().Snapshots == 0 {
					time.Sleep(time.Millisecond)
				}
			}
			name := fmt.Sprint(phase, i)
			if n := propose(t, s.Group(1), name); n != 1 {
				t.Fatal(name, n)
			}
		}
		time.Sleep(300 * time.Millisecond) // The guard gets the exact end.
		if phase == "power lost" {
			disks[phase] = mem.CrashClone(vfs.CrashCloneCfg{})
		}
		closeStore(t, s)
		if phase == "closed" {
			disks[phase] = mem.CrashClone(vfs.CrashCloneCfg{})
		}
	}
	expect := map[string]int{"closed": commands / 2, "power lost": commands}
	older := disks["closed"]

	type outcome struct{ refused, harmless int }
	tally := map[string]*outcome{}
	var mu sync.Mutex
	t.Run("disks", func(t *testing.T) {
		for phase, disk := range disks {
			kinds := map[string][]string{}
			files(t, disk, "node", kinds)
			for kind, paths := range kinds {
				t.Run(phase+" "+kind, func(t *testing.T) {
					t.Parallel()
					for _, m := range mutations() {
						p := slices.Max(paths) // The newest: names grow.
						fs := disk.CrashClone(vfs.CrashCloneCfg{})
						info, err := fs.Stat(p)
						if err != nil {
							t.Fatal(err)
						}
						if info.Size() == 0 && m.name != "deleted" {
							continue
						}
						m.do(t, fs, p, info.Size())
						refused, lost := survey(t, fs, expect[phase])
						if m.name == "deleted" && lost == nil && phase == "power lost" {
							lost = olderCopies(t, disk, older, paths, expect[phase])
						}
						mu.Lock()
						o := tally[phase+" "+kind]
						if o == nil {
							o = &outcome{}
							tally[phase+" "+kind] = o
						}
						if refused {
							o.refused++
						} else {
							o.harmless++
						}
						mu.Unlock()
						if lost != nil {
							t.Errorf("%s, %s: silently wrong: %v", p, m.name, lost)
						}
					}
				})
			}
		}
	})
	for _, kind := range slices.Sorted(maps.Keys(tally)) {
		t.Logf("%-34s refused %2d, harmless %2d", kind, tally[kind].refused, tally[kind].harmless)
	}
}

// olderCopies replaces files by the files of the same name on an older disk.
func olderCopies(t *testing.T, disk, older *vfs.MemFS, paths []string, commands int) (lost error) {
	t.Helper()
	for _, p := range paths {
		if _, err := older.Stat(p); err != nil {
			continue
		}
		old, fs := contents(t, older, p), disk.CrashClone(vfs.CrashCloneCfg{})
		rewrite(t, fs, p, func([]byte) []byte { return old })
		if _, err := survey(t, fs, commands); err != nil {
			lost = errors.Join(lost, fmt.Errorf("older copy of %s: %w", p, err))
		}
	}
	return lost
}

// survey starts a node on a disk and checks whether every command of the first phase or of both was applied exactly
// once. A start may end in an exit, which leaves its goroutines behind.
func survey(t *testing.T, fs vfs.FS, commands int) (refused bool, lost error) {
	t.Helper()
	c := config(fs, 1)
	exited := make(chan struct{}, 1)
	c.Exit = func(int) { exited <- struct{}{} }
	c.Logger = slog.New(slog.DiscardHandler)
	result := make(chan error, 1)
	go func() { result <- count(t, c, commands) }()
	select {
	case lost = <-result:
	case <-exited:
		return true, nil
	}
	if errors.Is(lost, errRefused) {
		return true, nil
	}
	return false, lost
}

var errRefused = errors.New("refused")

func count(t *testing.T, c raftstore.Config, commands int) error {
	s, err := raftstore.Open(c)
	if err != nil {
		return errRefused
	}
	if err := s.Group(1).WaitReady(t.Context()); err != nil {
		return err
	}
	wrong := 0
	err = s.Group(1).Read(func(r raftstore.Reader) error {
		for i := range commands {
			name := fmt.Sprint("closed", i)
			if i >= 100 {
				name = fmt.Sprint("power lost", i-100)
			}
			if v, found := r.Get([]byte(name)); !found || binary.BigEndian.Uint64(v) != 1 {
				wrong++
			}
		}
		return nil
	})
	if wrong > 0 {
		return errors.Join(err, fmt.Errorf("%d of %d commands", wrong, commands), s.Close())
	}
	return errors.Join(err, s.Close())
}
