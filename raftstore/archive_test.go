package raftstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/backup"
	"github.com/gavel-ads/gavel/raftstore/proposal"
)

// archivist is a node of one with groups 1 and 2, a backup from the middle of its history, and the segments of its log.
// Group 1 counts commands t0, t1, …, group 2 counts u0, u1, ….
type archivist struct {
	store    *raftstore.Store
	random   *rand.Rand
	commands map[uint16][]string
	backup   []byte
	inBackup map[uint16]int // Commands of each group that the backup has.
	segments [][]byte
	after    map[uint16]uint64
	cluster  string
}

// write proposes some commands in each group.
func (a *archivist) write(t *testing.T, most int) {
	t.Helper()
	for group, prefix := range map[uint16]string{1: "t", 2: "u"} {
		for range a.random.IntN(most + 1) {
			cmd := fmt.Sprint(prefix, len(a.commands[group]))
			propose(t, a.store.Group(group), cmd)
			a.commands[group] = append(a.commands[group], cmd)
		}
	}
}

// archive takes a segment that begins at the end of the one before, or overlap entries earlier.
func (a *archivist) archive(t *testing.T, overlap uint64) {
	t.Helper()
	after := map[uint16]uint64{}
	for group, index := range a.after {
		after[group] = index - min(index, overlap)
	}
	var b bytes.Buffer
	s, err := a.store.ArchiveLog(t.Context(), &b, raftstore.ArchiveInfo{TakenAt: takenAt, StateVersion: 7, After: after, Cluster: a.cluster})
	if err != nil {
		t.Fatal(err)
	}
	a.cluster = s.Cluster
	for _, span := range s.Groups {
		a.after[span.Group] = span.Index
	}
	a.segments = append(a.segments, b.Bytes())
}

// archived returns an archivist with a backup and some segments, whose store is closed.
func archived(t *testing.T, seed uint64) *archivist {
	t.Helper()
	a := &archivist{
		store: open(t, config(vfs.NewMem(), 1, 2)), random: rand.New(rand.NewPCG(seed, 0)),
		commands: map[uint16][]string{}, after: map[uint16]uint64{}, inBackup: map[uint16]int{},
	}
	for range 6 {
		a.write(t, 8)
		a.archive(t, a.random.Uint64N(4))
		if len(a.segments) != 2 {
			continue
		}
		a.write(t, 8) // The backup lies inside the next segment.
		var b bytes.Buffer
		if _, err := a.store.Backup(t.Context(), &b, raftstore.BackupInfo{TakenAt: takenAt, StateVersion: 7}); err != nil {
			t.Fatal(err)
		}
		a.backup = b.Bytes()
		for group, all := range a.commands {
			a.inBackup[group] = len(all)
		}
	}
	closeStore(t, a.store)
	return a
}

// inOrder yields readers of segments.
func inOrder(segments ...[]byte) iter.Seq2[io.Reader, error] {
	return func(yield func(io.Reader, error) bool) {
		for _, s := range segments {
			if !yield(bytes.NewReader(s), nil) {
				return
			}
		}
	}
}

func always(uint16, []byte) bool { return true }

// A restore with the archive of the log has, of each group, exactly the commands before the one at which it is cut: for any
// command after the backup, or none. Segments that overlap or that are older than the backup change nothing.
func TestRestoreToAnyMoment(t *testing.T) {
	for seed := range uint64(3) {
		synctest.Test(t, func(t *testing.T) {
			a := archived(t, seed)
			for round := range 12 {
				want := map[uint16]int{}
				for group, all := range a.commands {
					want[group] = a.inBackup[group] + a.random.IntN(len(all)-a.inBackup[group]+1)
					if round == 0 {
						want[group] = len(all)
					}
				}
				c := config(vfs.NewMem(), 1, 2)
				_, err := raftstore.RestoreBackup(c, bytes.NewReader(a.backup), &raftstore.History{
					Segments: inOrder(a.segments...),
					Keep: func(group uint16, cmd []byte) bool {
						return slices.Index(a.commands[group], string(cmd)) < want[group]
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				for range 2 { // Also after another start.
					s := open(t, c)
					for group, all := range a.commands {
						for i, cmd := range all {
							if got, expected := read(t, s.Group(group), cmd) == 1, i < want[group]; got != expected {
								t.Errorf("seed %d, group %d, cut before %d: command %d is there: %t", seed, group, want[group], i, got)
							}
						}
					}
					closeStore(t, s)
				}
			}
		})
	}
}

// A missing segment, a segment of another cluster, a damaged one, and one that cannot be read are refused, and the
// directory is empty afterwards.
func TestRestoreRefusesABrokenArchive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, other := archived(t, 7), archived(t, 8)
		c := config(vfs.NewMem(), 1, 2)
		last := a.segments[len(a.segments)-1]
		flipped := bytes.Clone(last)
		flipped[len(flipped)-40] ^= 1
		unreadable := errors.New("the disk of the archive fails")
		for name, k := range map[string]struct {
			segments iter.Seq2[io.Reader, error]
			want     error
		}{
			"a gap":              {inOrder(a.segments[0], last), backup.ErrGap},
			"another cluster":    {inOrder(other.segments...), backup.ErrOther},
			"a flipped bit":      {inOrder(append(slices.Clone(a.segments[:5]), flipped)...), backup.ErrBad},
			"a cut":              {inOrder(append(slices.Clone(a.segments[:5]), last[:len(last)-1])...), backup.ErrBad},
			"a byte more":        {inOrder(append(slices.Clone(a.segments[:5]), append(bytes.Clone(last), 0))...), backup.ErrBad},
			"a backup":           {inOrder(a.backup), backup.ErrBad},
			"an unreadable file": {func(yield func(io.Reader, error) bool) { yield(nil, unreadable) }, unreadable},
		} {
			_, err := raftstore.RestoreBackup(c, bytes.NewReader(a.backup), &raftstore.History{Segments: k.segments, Keep: always})
			if !errors.Is(err, k.want) {
				t.Errorf("%s: %v, want %v", name, err, k.want)
			}
		}
		if _, err := raftstore.RestoreBackup(c, bytes.NewReader(a.backup), &raftstore.History{Segments: inOrder(a.segments...), Keep: always}); err != nil {
			t.Errorf("after all that: %v", err)
		}
	})
}

// The reader of segments finds every flipped bit and every cut, and a segment whose digest is not that of the state.
func TestDamagedSegmentsAreFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := archived(t, 9)
		_, m, err := backup.Open(bytes.NewReader(a.backup))
		if err != nil {
			t.Fatal(err)
		}
		first := a.segments[2]
		readAll := func(b []byte) error {
			_, err := backup.NewTail(m, always).Read(bytes.NewReader(b), func(uint16, []byte) error { return nil }, func(backup.Span) error { return nil })
			return err
		}
		if err := readAll(first); err != nil {
			t.Fatal(err)
		}
		for i := range first {
			bad := bytes.Clone(first)
			bad[i] ^= 1 << (i % 8)
			if readAll(bad) == nil || readAll(first[:i]) == nil {
				t.Errorf("a bit of byte %d, or a cut there, was not found", i)
			}
		}
		wrong := segmentOf(t, m, m.Groups[0].Index+1, proposal.JoinEntry([][]byte{[]byte("invented")}))
		_, err = raftstore.RestoreBackup(config(vfs.NewMem(), 1, 2), bytes.NewReader(a.backup), &raftstore.History{Segments: inOrder(wrong), Keep: always})
		if !errors.Is(err, backup.ErrBad) || !strings.Contains(err.Error(), "digest") {
			t.Errorf("another state: %v", err)
		}
	})
}

// segmentOf returns a segment with one entry in the first group, and with the digests of the backup.
func segmentOf(t *testing.T, m backup.Manifest, index uint64, entry []byte) []byte {
	t.Helper()
	s := backup.Segment{Format: backup.Format, Cluster: m.Cluster}
	var groups []backup.Entries
	for i, g := range m.Groups {
		span := backup.Span{Group: g.Group, After: g.Index, Index: g.Index, Digest: g.Digest}
		if i == 0 {
			span.Index = index
		}
		s.Groups = append(s.Groups, span)
		groups = append(groups, func(fn func(uint64, []byte) error) error {
			if i > 0 {
				return nil
			}
			return fn(index, entry)
		})
	}
	var b bytes.Buffer
	if err := backup.WriteSegment(t.Context(), &b, s, groups); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A node whose log begins after the archive's end says so, and so does a node of another cluster.
func TestArchiveOfADeletedLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config(vfs.NewMem(), 1, 2)
		c.SnapshotThreshold, c.SnapshotInterval, c.TrailingLogs = 20, time.Second, 5
		s := open(t, c)
		for range 100 {
			propose(t, s.Group(1), "a")
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		take := func(info raftstore.ArchiveInfo) (backup.Segment, error) {
			return s.ArchiveLog(t.Context(), io.Discard, info)
		}
		if _, err := take(raftstore.ArchiveInfo{After: map[uint16]uint64{1: 3}}); !errors.Is(err, raftstore.ErrLogGap) {
			t.Errorf("after entry 3: %v", err)
		}
		if _, err := take(raftstore.ArchiveInfo{Cluster: "00000000000000c1"}); !errors.Is(err, raftstore.ErrForeign) {
			t.Errorf("of another cluster: %v", err)
		}
		first, err := take(raftstore.ArchiveInfo{})
		if err != nil || first.Groups[0].After < 3 || first.Groups[0].Index < 100 {
			t.Errorf("from the oldest entry: %+v, %v", first, err)
		}
		ahead, err := take(raftstore.ArchiveInfo{After: map[uint16]uint64{1: 5_000, 2: first.Groups[1].Index}, Local: true})
		if err != nil || ahead.Groups[0].After != 5_000 || ahead.Groups[0].Index != 5_000 || ahead.Groups[0].Digest != "" {
			t.Errorf("of an archive that is ahead: %+v, %v", ahead, err)
		}
		closeStore(t, s)
		if _, err := take(raftstore.ArchiveInfo{}); !errors.Is(err, raftstore.ErrClosed) {
			t.Errorf("of a closed store: %v", err)
		}
	})
}

// An entry has many commands; it is cut before the first one that is not wanted, and nothing follows in its group.
func TestCutInsideAnEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := archived(t, 10)
		_, m, err := backup.Open(bytes.NewReader(a.backup))
		if err != nil {
			t.Fatal(err)
		}
		packed := [][]byte{[]byte("p0"), []byte("p1"), []byte("p2"), []byte("p3")}
		first := segmentOf(t, m, m.Groups[0].Index+1, proposal.JoinEntry(packed))
		m.Groups[0].Index++
		second := segmentOf(t, m, m.Groups[0].Index+1, proposal.JoinEntry([][]byte{[]byte("p4")}))
		for wanted := range len(packed) {
			c := config(vfs.NewMem(), 1, 2)
			_, err := raftstore.RestoreBackup(c, bytes.NewReader(a.backup), &raftstore.History{
				Segments: inOrder(first, second),
				Keep:     func(_ uint16, cmd []byte) bool { return string(cmd) != fmt.Sprint("p", wanted) },
			})
			if err != nil {
				t.Fatal(err)
			}
			s := open(t, c)
			for i := range 5 {
				if got := read(t, s.Group(1), fmt.Sprint("p", i)) == 1; got != (i < wanted) {
					t.Errorf("cut before p%d: p%d is there: %t", wanted, i, got)
				}
			}
			closeStore(t, s)
		}
	})
}
