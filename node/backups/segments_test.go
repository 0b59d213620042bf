package backups_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/gavel-ads/gavel/node/backups"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// The names of segments are in the order in which they are taken, whatever the clock does.
func TestSegmentsAreInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	var p backups.Position
	var names []string
	for range 1_000 {
		p.Newest = p.NextSegment(noon.Add(time.Duration(random.Int64N(int64(time.Second)))), random.IntN(2) == 0)
		names = append(names, p.Newest)
	}
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Error("the names are not in the order of the segments")
	}
	if got := backups.SegmentsAfter(slices.Sorted(slices.Values(append(names, "gavel-20261127T120000Z.bak", "notes.log"))), noon); !slices.Equal(got, names) {
		t.Errorf("%d of %d segments are found", len(got), len(names))
	}
}

// What no backup needs is old: segments that are more than an hour older than every backup.
func TestOldSegments(t *testing.T) {
	old, needed := "gavel-20261127T105959.999Z.log.zst", "gavel-20261127T110000.000Z.log.zst.age"
	backup, later := "gavel-20261127T120000Z.bak", "gavel-20261128T120000Z.bak.age"
	for _, c := range []struct{ names, want []string }{
		{[]string{later, needed, backup, old}, []string{old}},
		{[]string{needed, later, old}, []string{old, needed}},
		{[]string{needed, old}, nil}, // Without a backup nobody knows.
		{[]string{backup, "gavel-20261127T105959Z.log.zst", "gavel-2026.log.zst", "gavel-archive.json"}, nil},
	} {
		if got := backups.OldSegments(c.names); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.names, got, c.want)
		}
	}
	if got := backups.SegmentsAfter([]string{later, needed, backup, old}, noon); !slices.Equal(got, []string{needed}) {
		t.Errorf("behind the backup of noon: %q", got)
	}
}

func TestReadPosition(t *testing.T) {
	got, err := backups.ReadPosition([]byte(`{"cluster":"c1","newest":"gavel-20261127T110000.000Z.log.zst","after":{"0":7,"1":9}}`))
	want := backups.Position{Cluster: "c1", Newest: "gavel-20261127T110000.000Z.log.zst", After: map[uint16]uint64{0: 7, 1: 9}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{
		"", "{}", `{"cluster":"c1","newest":"x","after":{"0":7}}`, `{"cluster":"c1","newest":"gavel-20261127T110000.000Z.log.zst","after":{}}`,
		`{"newest":"gavel-20261127T110000.000Z.log.zst","after":{"0":7}}`, `{"cluster":"c1","newest":"gavel-20261127T110000.000Z.log.zst","after":{"x":7}}`,
	} {
		if p, err := backups.ReadPosition([]byte(bad)); err == nil {
			t.Errorf("%s: %+v", bad, p)
		}
	}
}

// What was compressed is read again, and a part of it is an error.
func TestCompressedIsReadToItsEnd(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 0))
	for _, size := range []int{0, 1, 1_000, 300_000} {
		content := make([]byte, size)
		for i := range content {
			content[i] = byte(random.IntN(4))
		}
		var stored bytes.Buffer
		w, err := backups.Compressed(&stored)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(content); err != nil || w.Close() != nil {
			t.Fatal(err)
		}
		if size > 1_000 && stored.Len() > size/2 {
			t.Errorf("%d bytes became %d", size, stored.Len())
		}
		readAll := func(b []byte) ([]byte, error) {
			r, err := backups.Decompressed(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			return got, errors.Join(err, r.Close())
		}
		if got, err := readAll(stored.Bytes()); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%d bytes: %d came back, %v", size, len(got), err)
		}
		for range 50 {
			if size == 0 {
				break // Nothing is nothing, whatever is cut; a segment is never empty.
			}
			cut := 1 + random.IntN(stored.Len()-1)
			if got, err := readAll(stored.Bytes()[:cut]); err == nil {
				t.Errorf("%d of %d bytes gave %d of %d, and no error", cut, stored.Len(), len(got), size)
			}
		}
	}
}
