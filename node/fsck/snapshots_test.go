package fsck_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/shard/command"
)

// takeSnapshot takes a snapshot of a stopped node and stops it again. It returns the directory of the snapshot.
func takeSnapshot(t *testing.T, n *node) (dir string) {
	t.Helper()
	c := config(n.fs)
	c.SnapshotInterval, c.SnapshotThreshold, c.TrailingLogs = 5*time.Millisecond, 1, 1_000
	s, err := raftstore.Open(c)
	check(t, err)
	check(t, s.Group(1).WaitReady(t.Context()))
	for range 1_000 {
		if s.Group(1).Status().Snapshots > 0 {
			break
		}
		// It changes nothing: a campaign that was created while the snapshot is taken would be missing in it.
		_, err := s.Group(1).Propose(t.Context(), command.AppendNoop(nil, 0))
		check(t, err)
		time.Sleep(5 * time.Millisecond)
	}
	check(t, s.Close())
	names, err := n.fs.List("node/snapshots/1")
	if err != nil || len(names) == 0 {
		t.Fatalf("no snapshot was taken: %v", err)
	}
	return "node/snapshots/1/" + names[len(names)-1]
}

// TestReadsSnapshots flips bytes all over a snapshot: each change is found and the snapshot named. When the state is
// missing, as in a restored node, the records of the snapshot are checked.
func TestReadsSnapshots(t *testing.T) {
	n := newNode(t, 5, 200, false)
	dir := takeSnapshot(t, n)
	whole := n.audit(t)
	if !whole.Clean() || whole.Groups[0].Snapshots == 0 {
		t.Fatalf("%+v: %v", whole.Groups, whole.Problems)
	}
	for _, file := range []string{"state", "meta.json"} {
		good := read(t, n.fs, dir+"/"+file)
		for at := 0; at < len(good); at += 1 + len(good)/40 {
			bad := append([]byte{}, good...)
			bad[at] ^= 1
			write(t, n.fs, dir+"/"+file, bad)
			if text := fmt.Sprint(n.audit(t).Problems); !strings.Contains(text, "snapshot") {
				t.Errorf("the change of byte %d of %s was not found: %s", at, file, text)
			}
		}
		write(t, n.fs, dir+"/"+file, good[:len(good)-1])
		if n.audit(t).Clean() {
			t.Errorf("the truncation of %s was not found", file)
		}
		write(t, n.fs, dir+"/"+file, good)
	}
	n.edit(t, false, func(f *forge) { check(t, f.db.DeleteRange([]byte{0}, []byte{0xff}, pebble.NoSync)) })
	r := n.audit(t)
	if g := r.Groups[0]; !r.Clean() || g.Source == "state" || g.Charges == 0 || len(r.Campaigns) != len(whole.Campaigns) {
		t.Errorf("without a state: %+v, %v", r.Groups, r.Problems)
	}
}

func read(t *testing.T, fs vfs.FS, path string) []byte {
	t.Helper()
	f, err := fs.Open(path)
	check(t, err)
	b, err := io.ReadAll(f)
	check(t, errors.Join(err, f.Close()))
	return b
}

func write(t *testing.T, fs vfs.FS, path string, b []byte) {
	t.Helper()
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	check(t, err)
	_, err = f.Write(bytes.Clone(b)) // Pebble's file system in memory changes what it was given, when the race detector is on.
	check(t, errors.Join(err, f.Close()))
}
