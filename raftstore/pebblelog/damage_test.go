package pebblelog

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"

	"github.com/gavel-ads/gavel/raftstore/fatal"
)

// These tests show what damage to Pebble's files does, to Pebble with its defaults and to this package's log: it has no
// effect, or the log is refused.

// newest returns the file with the highest number among those of a database whose names contain part.
func newest(t *testing.T, fs vfs.FS, dir, part string) string {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.Contains(name, part) || strings.HasPrefix(name, "marker.") })
	if len(names) == 0 {
		t.Fatalf("no file named %s", part)
	}
	return fs.PathJoin(dir, slices.Max(names))
}

func rewrite(t *testing.T, fs vfs.FS, path string, change func([]byte) []byte) {
	t.Helper()
	f, err := fs.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if f, err = fs.Create(path, vfs.WriteCategoryUnspecified); err != nil {
		t.Fatal(err)
	}
	if _, err = f.Write(change(b)); errors.Join(err, f.Close()) != nil {
		t.Fatal(err)
	}
}

func flipMiddle(b []byte) []byte {
	b[len(b)/2] ^= 1
	return b
}

// Pebble with its defaults loses synced writes behind one flipped bit of its log without an error
// (cockroachdb/pebble#453): in the formats before FormatWALSyncChunks, and in every format while it writes the log file
// of its creation. The two columns are the reason why this package uses the newest format and opens a new database
// twice; when a row reports an error, one of them may not be needed.
func TestPebbleLosesTheLogWithoutAnError(t *testing.T) {
	for _, format := range []pebble.FormatMajorVersion{pebble.FormatMinSupported, pebble.FormatWALSyncChunks, pebble.FormatNewest} {
		for _, reopened := range []bool{false, true} {
			t.Run(fmt.Sprintf("format %s, reopened %t", format, reopened), func(t *testing.T) {
				const count = 1000
				mem := vfs.NewCrashableMem()
				options := func(fs vfs.FS) *pebble.Options {
					return &pebble.Options{FS: fs, FormatMajorVersion: format, Logger: quiet{}}
				}
				p, err := pebble.Open("db", options(mem))
				if err == nil && reopened {
					if err = p.Close(); err == nil {
						p, err = pebble.Open("db", options(mem))
					}
				}
				if err != nil {
					t.Fatal(err)
				}
				defer p.Close()
				for i := range count {
					if err := p.Set(fmt.Appendf(nil, "%04d", i), make([]byte, 100), pebble.Sync); err != nil {
						t.Fatal(err)
					}
				}
				fs := mem.CrashClone(vfs.CrashCloneCfg{})
				rewrite(t, fs, newest(t, fs, "db", ".log"), flipMiddle)
				found := 0
				damaged, err := pebble.Open("db", options(fs))
				if err == nil {
					it, _ := damaged.NewIter(nil)
					for ok := it.First(); ok; ok = it.Next() {
						found++
					}
					if err := errors.Join(it.Close(), damaged.Close()); err != nil {
						t.Fatal(err)
					}
				}
				protected := format >= pebble.FormatWALSyncChunks && reopened
				if protected != (err != nil) || !protected && found == count {
					t.Errorf("%d of %d keys, error %v", found, count, err)
				}
			})
		}
	}
}

type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}

// Pebble by itself protects the first log file that Raft writes to, without the guard: it has the newest format, and is
// not the file of the creation.
func TestFirstLogFileIsProtected(t *testing.T) {
	mem := vfs.NewCrashableMem()
	created := &logFiles{FS: mem}
	d := mustOpen(t, created)
	defer d.Close()
	if got := d.db.p.FormatMajorVersion(); got != pebble.FormatNewest {
		t.Errorf("format %s, want %s", got, pebble.FormatNewest)
	}
	for i := uint64(1); i <= 1000; i++ {
		if err := d.Group(1).StoreLogs(entries(i, i, 1)); err != nil {
			t.Fatal(err)
		}
	}
	fs := mem.CrashClone(vfs.CrashCloneCfg{})
	live := newest(t, fs, "raftlog", ".log")
	if len(created.names) < 2 || created.names[0] == live {
		t.Errorf("raft writes to %s, the log files created so far are %q", live, created.names)
	}
	rewrite(t, fs, live, flipMiddle)
	if after, err := openTest(t, fs, func(o *Options) { o.AcceptLoss = true }); err == nil {
		last, _ := after.Group(1).LastIndex()
		t.Errorf("opened behind a flipped bit, with %d of 1000 entries", last)
		after.Close()
	}
}

// logFiles records the log files that were created.
type logFiles struct {
	vfs.FS
	names []string
}

func (l *logFiles) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasSuffix(name, ".log") {
		l.names = append(l.names, name)
	}
	return l.FS.Create(name, c)
}

// Flipped bits, zeroed sectors and cuts all over the newest log file and the newest MANIFEST of a log without writes
// for a while: it is refused, or whole. Without the guard neither file has that property (cockroachdb/pebble#4560).
func TestDamagedLogIsRefusedOrWhole(t *testing.T) {
	const flushed, count = 2000, 3000
	mem := vfs.NewCrashableMem()
	d := mustOpen(t, mem)
	for i := uint64(1); i <= count; i += 10 {
		if err := d.Group(1).StoreLogs(entries(i, i+9, 1)); err != nil {
			t.Fatal(err)
		}
		if i%500 == 1 && i <= flushed { // Tables that a MANIFEST can forget.
			if err := d.db.p.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	d.Group(1).finishGuard()
	whole := mem.CrashClone(vfs.CrashCloneCfg{})
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{".log", "MANIFEST-"} {
		t.Run(part, func(t *testing.T) {
			path := newest(t, whole, "raftlog", part)
			refused := 0
			all := damages()
			for what, damage := range all {
				fs := whole.CrashClone(vfs.CrashCloneCfg{})
				rewrite(t, fs, path, damage)
				found, err := surviving(t, fs)
				if err != nil {
					refused++
				} else if found != count {
					t.Errorf("%s: opens with %d of %d entries", what, found, count)
				}
			}
			t.Logf("refused %d of %d", refused, len(all))
			if refused < len(all)/4 {
				t.Error("hardly any damage was noticed: the test damages nothing that matters")
			}
		})
	}
}

// damages returns changes that may happen to the contents of a file.
func damages() map[string]func([]byte) []byte {
	all := map[string]func([]byte) []byte{
		"cut at 50%": func(b []byte) []byte { return b[:len(b)/2] },
		"cut at 99%": func(b []byte) []byte { return b[:len(b)*99/100] },
	}
	for i := range 40 {
		all[fmt.Sprintf("bit flipped at %d/40", i)] = func(b []byte) []byte {
			b[len(b)*i/40] ^= 1 << (i % 8)
			return b
		}
	}
	for i := range 10 {
		all[fmt.Sprintf("512 bytes zeroed at %d/10", i)] = func(b []byte) []byte {
			at := len(b) * i / 10
			clear(b[at:min(len(b), at+512)])
			return b
		}
	}
	return all
}

// surviving opens the log of a damaged disk and counts the entries that can be read. An end of the process is an error.
func surviving(t *testing.T, fs vfs.FS) (found uint64, err error) {
	t.Helper()
	ended := make(chan struct{})
	var once sync.Once
	discard := slog.New(slog.DiscardHandler)
	exit := fatal.NewExit(discard, func(int) { once.Do(func() { close(ended) }) }) // The calling goroutine stops for ever.
	counted := make(chan error, 1)
	go func() {
		d, err := openTest(t, fs, func(o *Options) { o.Exit, o.Logger = exit, fatal.NewLogger(exit, discard, "raftlog") })
		if err == nil {
			l := d.Group(1)
			first, _ := l.FirstIndex()
			err = l.Walk(first, func(*raft.Log) { found++ })
			err = errors.Join(err, d.Close())
		}
		counted <- err
	}()
	select {
	case err := <-counted:
		return found, err
	case <-ended:
		return 0, errors.New("the process ended")
	}
}
