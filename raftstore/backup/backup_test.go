package backup_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore"
	"github.com/gavel-ads/gavel/raftstore/backup"
	"github.com/gavel-ads/gavel/raftstore/proposal"
	"github.com/gavel-ads/gavel/raftstore/raftstoretest"
)

// records is a state with so many records.
type records int

func (r records) Each(fn func(key, value []byte) error) error {
	for i := range int(r) {
		if err := fn([]byte{byte(i)}, []byte("value")); err != nil {
			return err
		}
	}
	return nil
}

// A dry run refuses what a restore refuses: records of a group in which nothing was applied.
func TestBackupOfAnEmptyGroupHasNoRecords(t *testing.T) {
	for _, n := range []records{0, 1} {
		const cluster = 0xc0ffee
		m := backup.Manifest{
			Format: backup.Format, Cluster: backup.HexText(cluster), Node: "n1", Epoch: 1, Groups: []backup.Group{{Group: 1, Digest: backup.HexText(0)}},
		}
		var out bytes.Buffer
		if err := backup.Write(t.Context(), &out, m, cluster, []backup.State{n}); err != nil {
			t.Fatal(err)
		}
		_, verified := backup.Verify(bytes.NewReader(out.Bytes()))
		_, restored := raftstore.RestoreBackup(raftstore.Config{
			Dir: "node", FS: vfs.NewMem(), NodeID: "n1", Groups: []uint16{1},
			Machine: func(uint16) raftstore.StateMachine { return raftstoretest.NewCounters() },
		}, bytes.NewReader(out.Bytes()), nil)
		if bad := n > 0; errors.Is(verified, backup.ErrBad) != bad || errors.Is(restored, backup.ErrBad) != bad {
			t.Errorf("%d records: verified %v, restored %v", n, verified, restored)
		}
	}
}

// The manifest's names are a format that tools read.
func TestGoldenManifest(t *testing.T) {
	b, err := json.Marshal(backup.Manifest{
		Format: 1, Cluster: "00000000000000c1", Node: "n1", Epoch: 2, TakenAt: time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC), StateVersion: 3,
		Groups: []backup.Group{{Group: 1, Index: 9, Term: 2, Digest: "00000000000000d1"}},
	})
	const want = `{"format":1,"cluster":"00000000000000c1","node":"n1","epoch":2,"taken_at":"2026-11-21T06:00:00Z","state_version":3,` +
		`"groups":[{"group":1,"index":9,"term":2,"digest":"00000000000000d1"}]}`
	if err != nil || string(b) != want {
		t.Errorf("%s, %v", b, err)
	}
}

func FuzzVerifyBackup(f *testing.F) {
	f.Add([]byte("GVBK\x01"))
	f.Add([]byte("GVBK\x01\x00\x00\x00\x02{}\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := backup.Verify(bytes.NewReader(b)); err == nil && len(b) < 32 {
			t.Error("accepted")
		}
	})
}

// Whatever bytes a segment has, its reader returns, and takes none that is too short for a head, an end and a checksum.
func FuzzReadSegment(f *testing.F) {
	m := backup.Manifest{Cluster: backup.HexText(1), Groups: []backup.Group{{Group: 1, Index: 4}}}
	var whole bytes.Buffer
	s := backup.Segment{Format: backup.Format, Cluster: m.Cluster, Groups: []backup.Span{{Group: 1, After: 4, Index: 9}}}
	entries := func(fn func(uint64, []byte) error) error {
		return fn(7, proposal.JoinEntry([][]byte{[]byte("a"), []byte("b")}))
	}
	if err := backup.WriteSegment(f.Context(), &whole, s, []backup.Entries{entries}); err != nil {
		f.Fatal(err)
	}
	f.Add(whole.Bytes())
	f.Add([]byte("GVLG\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got := 0
		_, err := backup.NewTail(m, func(uint16, []byte) bool { return true }).Read(bytes.NewReader(b),
			func(uint16, []byte) error { got++; return nil }, func(backup.Span) error { return nil })
		if err == nil && len(b) < 64 {
			t.Errorf("accepted %x", b)
		}
		if bytes.Equal(b, whole.Bytes()) && (err != nil || got != 1) {
			t.Errorf("a whole segment: %d entries, %v", got, err)
		}
	})
}
