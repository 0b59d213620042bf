package raftstore

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/gavel-ads/gavel/raftstore/snapshot"
)

// A dry run refuses what a restore refuses: records of a group in which nothing was applied.
func TestBackupOfAnEmptyGroupHasNoRecords(t *testing.T) {
	for _, records := range []int{0, 1} {
		const cluster = 0xc0ffee
		group := BackupGroup{Group: 1, Digest: clusterText(0)}
		m := Manifest{Format: backupFormat, Cluster: clusterText(cluster), Node: "n1", Epoch: 1, Groups: []BackupGroup{group}}
		var out bytes.Buffer
		b := newBackupWriter(t.Context(), &out)
		text, err := json.Marshal(m)
		must(t, err)
		_, err = b.Write(text)
		must(t, errors.Join(err, b.endSection()))
		h, err := group.header(cluster)
		must(t, err)
		section, err := snapshot.NewWriter(b, h)
		must(t, err)
		for range records {
			must(t, section.Add([]byte("key"), []byte("value")))
		}
		must(t, errors.Join(section.End(), b.endSection(), b.end()))

		_, verified := VerifyBackup(bytes.NewReader(out.Bytes()))
		c := Config{Dir: "node", FS: vfs.NewMem(), NodeID: "n1", Groups: []uint16{1}, Machine: func(uint16) StateMachine { return &counting{} }}
		_, restored := RestoreBackup(c, bytes.NewReader(out.Bytes()))
		if bad := records > 0; errors.Is(verified, ErrBadBackup) != bad || errors.Is(restored, ErrBadBackup) != bad {
			t.Errorf("%d records: verified %v, restored %v", records, verified, restored)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
