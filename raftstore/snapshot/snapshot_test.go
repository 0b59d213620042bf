package snapshot

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/hashicorp/raft"
)

var header0 = Header{Cluster: 0xC1, Group: 3, Index: 7, Term: 2, Digest: 0xD1}

// stream returns a stream of n records of about 100 bytes.
func stream(t testing.TB, n int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, header0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if err := w.Add(fmt.Appendf(nil, "k%06d", i), bytes.Repeat([]byte{byte(i)}, i%200)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func readAll(b []byte) (n int, err error) {
	r := bytes.NewReader(b)
	if _, err := ReadHeader(r); err != nil {
		return 0, err
	}
	err = Read(r, func(_, _ []byte) error {
		n++
		return nil
	})
	return n, err
}

func TestStreamKeepsRecords(t *testing.T) {
	for _, n := range []int{0, 1, 50_000} { // The last one needs several blocks.
		b := stream(t, n)
		r := bytes.NewReader(b)
		h, err := ReadHeader(r)
		if err != nil || h != header0 {
			t.Fatalf("%+v, %v", h, err)
		}
		i := 0
		err = Read(r, func(key, value []byte) error {
			if string(key) != fmt.Sprintf("k%06d", i) || len(value) != i%200 {
				t.Fatalf("record %d is %q", i, key)
			}
			i++
			return nil
		})
		if err != nil || i != n {
			t.Errorf("%d records: %d read, %v", n, i, err)
		}
	}
}

func TestEveryDamageOfAStreamIsNoticed(t *testing.T) {
	good := stream(t, 40)
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1 << (i % 8)
		if n, err := readAll(bad); !errors.Is(err, ErrCorrupt) {
			t.Errorf("bit flipped in byte %d: %d records, %v", i, n, err)
		}
		if n, err := readAll(good[:i]); !errors.Is(err, ErrCorrupt) {
			t.Errorf("cut at %d: %d records, %v", i, n, err)
		}
	}
	if _, err := readAll(append(bytes.Clone(good), 0)); !errors.Is(err, ErrCorrupt) {
		t.Error("a byte after the end is not noticed")
	}
}

func TestBlocksCannotBeLeftOut(t *testing.T) {
	b := stream(t, 50_000)
	length := 1 + 4 + int(uint32(b[headerBytes+1])<<24|uint32(b[headerBytes+2])<<16|uint32(b[headerBytes+3])<<8|uint32(b[headerBytes+4])) + 4
	without := append(bytes.Clone(b[:headerBytes]), b[headerBytes+length:]...)
	if _, err := readAll(without); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a missing block: %v", err)
	}
}

func TestGoldenStream(t *testing.T) {
	var b bytes.Buffer
	w, _ := NewWriter(&b, header0)
	w.Add([]byte("k"), []byte("v1"))
	w.End()
	const want = "47565353" + "01" + "0003" + "00000000000000c1" + "0000000000000007" + "0000000000000002" + "00000000000000d1" + "HHHHHHHH" +
		"42" + "00000005" + "01026b7631" + "BBBBBBBB" + "45" + "0000000000000001" + "BBBBBBBB"
	got := hex.EncodeToString(b.Bytes())
	if got != strings.NewReplacer("HHHHHHHH", goldenHeaderCRC, "BBBBBBBB", goldenBlockCRC).Replace(want) {
		t.Error(got)
	}
}

const goldenHeaderCRC, goldenBlockCRC = "ccd4df26", "2244f064"

func openStore(t *testing.T, fs vfs.FS) *Store {
	t.Helper()
	if err := fs.MkdirAll("snapshots", 0o755); err != nil {
		t.Fatal(err)
	}
	s, err := Open(fs, "snapshots/1", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func take(t *testing.T, s *Store, index uint64, content string) string {
	t.Helper()
	c := raft.Configuration{Servers: []raft.Server{{ID: "n1", Address: "a"}}}
	k, err := s.Create(raft.SnapshotVersionMax, index, 2, c, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	return k.ID()
}

// The newest two stay, newest first; a second snapshot of the same index does not replace the first before it is
// complete.
func TestStoreKeepsTwo(t *testing.T) {
	fs := vfs.NewMem()
	s := openStore(t, fs)
	for i, index := range []uint64{5, 300, 70_000, 70_000} {
		take(t, s, index, fmt.Sprint("content", i))
	}
	s = openStore(t, fs)
	metas, err := s.List()
	if err != nil || len(metas) != 2 {
		t.Fatal(metas, err)
	}
	for i, want := range []string{"content3", "content2"} {
		m, r, err := s.Open(metas[i].ID)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(r)
		r.Close()
		if string(b) != want || m.Index != 70_000 || m.Term != 2 || m.Configuration.Servers[0].ID != "n1" || m.Size != int64(len(want)) {
			t.Errorf("%d: %q, %+v", i, b, m)
		}
	}
}

func TestUnfinishedSnapshotsAreDeleted(t *testing.T) {
	fs := vfs.NewMem()
	s := openStore(t, fs)
	take(t, s, 5, "good")
	k, err := s.Create(raft.SnapshotVersionMax, 6, 2, raft.Configuration{}, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	k.Write([]byte("half"))
	if metas, _ := s.List(); len(metas) != 1 {
		t.Errorf("%d snapshots while one is being written", len(metas))
	}
	s = openStore(t, fs) // As after a crash.
	if s.TmpDeleted() != 1 {
		t.Errorf("%d reaped", s.TmpDeleted())
	}
	k, _ = s.Create(raft.SnapshotVersionMax, 7, 2, raft.Configuration{}, 1, nil)
	if err := k.Cancel(); err != nil {
		t.Error(err)
	}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
	names, _ := fs.List("snapshots/1")
	if len(names) != 1 {
		t.Errorf("left: %v", names)
	}
}

// What is written of a snapshot is given to the disk as it comes, and not all at its end.
func TestBytesAreGivenToTheDiskAsTheyCome(t *testing.T) {
	syncs := 0
	fs := vfs.WithLogging(vfs.NewMem(), func(format string, _ ...any) {
		if strings.HasPrefix(format, "sync") {
			syncs++
		}
	})
	k, err := openStore(t, fs).Create(raft.SnapshotVersionMax, 6, 2, raft.Configuration{}, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	before := syncs
	const blocks = 8
	for range blocks {
		if _, err := k.Write(make([]byte, writeBufferBytes)); err != nil {
			t.Fatal(err)
		}
	}
	if syncs-before < blocks/4 {
		t.Errorf("%d MiB were given to the disk in %d pieces before the end", blocks, syncs-before)
	}
	if err := k.Cancel(); err != nil {
		t.Fatal(err)
	}
}
